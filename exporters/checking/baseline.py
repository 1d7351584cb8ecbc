"""baseline.json: what a check found, row by row, so that a later one can be paired with it.

Holds the answer and the counts of every row, size, time and the SHA-256 of file and data; no texts of the rows. What
files cost on other processors is in a part of its own.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exporters.report.json_lists import short_lists
from models_tf.checkpoints.atomic_files import write_files
from models_tf.checkpoints.json_text import read_json_file
from models_tf.data import DEFAULT_THRESHOLD
from models_tf.errors import InputError
from models_tf.folders.manifest import entry_of
from models_tf.tasks import several_labels
from models_tf.tasks.judged import STATISTICS

VERSION = 1
# Where checks with --arch keep what they found, by processor: see `exporters/arch_check/baseline.py`.
PROCESSORS = "processors"
_UPDATE = "Write it again with --update-baseline."
_ADD = "Add them with --update-baseline."


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Processor time of one row as a multiple of a fixed piece of work, on one thread of `cpu`."""

    cpu: str
    ratio: float
    median_ms: float


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One file of a baseline."""

    sha256: str
    size_bytes: int
    metric: str
    value: float
    answers: tuple[str, ...]
    counts: np.ndarray
    speed: Speed | None = None
    label_threshold: float | None = None


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """`rows` is the number of rows asked for, None for all of the data."""

    data_name: str
    data_sha256: str
    rows: int | None
    files: Mapping[str, Entry]

    def entry(self, name: str, path: Path) -> Entry:
        if name not in self.files:
            raise InputError(f"{path} must have an entry for {name}. Received: {', '.join(self.files)}. {_UPDATE}")
        return self.files[name]


def data_sha256(path: Path) -> str:
    """Of a file, or of all files in a folder with their names."""
    if not path.is_dir():
        return entry_of(path).sha256
    files = sorted(file for file in path.rglob("*") if file.is_file())
    names = "".join(f"{file.relative_to(path)} {entry_of(file).sha256}\n" for file in files)
    return hashlib.sha256(names.encode()).hexdigest()


def read(path: Path) -> Baseline:
    """A baseline that a check wrote; anything else is an InputError."""
    document = read_document(path)
    if _only_other_processors(document):
        raise InputError(f"{path} must hold scores. Received: a check with --arch alone. {_ADD}")
    try:
        return _parsed(document)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{path} must be as a check wrote it. Received: a damaged baseline ({_shown(error)}). {_UPDATE}"
        ) from error


def read_document(path: Path) -> dict[str, Any]:
    """The JSON of a baseline of this version."""
    try:
        document = read_json_file(path, f"{path} must be a baseline in JSON.")
    except OSError as error:
        raise InputError(
            f"--baseline must be a file that `export-mobile check --update-baseline` wrote. "
            f"Received: {path} ({error.strerror})."
        ) from error
    version = document.get("baseline_version") if isinstance(document, dict) else None
    if version != VERSION:
        received = "none" if version is None else _shown(version)
        raise InputError(f"{path} must be a baseline of version {VERSION}. Received: version {received}. {_UPDATE}")
    found: dict[str, Any] = document
    return found


def write(path: Path, baseline: Baseline) -> None:
    """Replaces only a baseline, and leaves what a check on another processor wrote."""
    document = {
        "data": {"name": baseline.data_name, "sha256": baseline.data_sha256, "rows": baseline.rows},
        "files": {name: _document(entry) for name, entry in baseline.files.items()},
    }
    others = read_document(path) if path.is_file() else {}
    write_document(path, document | ({PROCESSORS: others[PROCESSORS]} if PROCESSORS in others else {}))


def check_place(path: Path) -> None:
    """A baseline can be written there."""
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"--baseline must be a file in a folder that exists. Received: {path}.")


def write_document(path: Path, document: Mapping[str, Any]) -> None:
    check_place(path)
    document = {"baseline_version": VERSION, **document}
    write_files(
        path.parent, {path.name: (short_lists(json.dumps(document, indent=1, ensure_ascii=False)) + "\n").encode()}
    )


def kept(path: Path, *, sha256: str, rows: int | None) -> dict[str, Entry]:
    """The entries of an earlier baseline on the same data, which an update of one file leaves alone."""
    if not path.exists():
        return {}
    try:
        if _only_other_processors(read_document(path)):
            return {}
        earlier = read(path)
    except InputError as error:
        raise InputError(f"--update-baseline replaces only a baseline. {error} Choose another name.") from error
    return dict(earlier.files) if (earlier.data_sha256, earlier.rows) == (sha256, rows) else {}


def _only_other_processors(document: Mapping[str, Any]) -> bool:
    return PROCESSORS in document and "files" not in document


def _document(entry: Entry) -> dict[str, Any]:
    found: dict[str, Any] = {
        "sha256": entry.sha256,
        "size_bytes": entry.size_bytes,
        "metric": entry.metric,
        "value": entry.value,
        "answers": list(entry.answers),
        "counts": [[_plain(value) for value in row] for row in entry.counts.tolist()],
    }
    if entry.label_threshold is not None:
        found["label_threshold"] = entry.label_threshold
    if entry.speed is not None:
        found["speed"] = vars(entry.speed)
    return found


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value


def _parsed(document: dict[str, Any]) -> Baseline:
    data = document["data"]
    files = {str(name): _entry(entry) for name, entry in document["files"].items()}
    if not files:
        raise ValueError("no files")
    rows = data["rows"]
    if rows is not None and not isinstance(rows, int):
        raise TypeError("rows")
    return Baseline(data_name=str(data["name"]), data_sha256=str(data["sha256"]), rows=rows, files=files)


def _entry(entry: dict[str, Any]) -> Entry:
    counts = np.array(entry["counts"], np.float64)
    answers = tuple(entry["answers"])
    if entry["metric"] not in STATISTICS:
        raise ValueError(f"metric {_shown(entry['metric'])}")
    if counts.ndim != 2 or len(counts) != len(answers) or not np.isfinite(counts).all() or not len(counts):
        raise ValueError("counts")
    _texts(answers)
    value = STATISTICS[entry["metric"]](counts)
    if not math.isclose(value, float(entry["value"]), abs_tol=1e-6):
        raise ValueError(f"the counts give {value:.4f}, not {float(entry['value']):.4f}")
    several = entry["metric"] == several_labels.METRIC
    threshold = entry.get("label_threshold", DEFAULT_THRESHOLD if several else None)
    speed = entry.get("speed")
    return Entry(
        sha256=str(entry["sha256"]),
        size_bytes=int(entry["size_bytes"]),
        metric=entry["metric"],
        value=value,
        answers=answers,
        counts=counts,
        label_threshold=None if threshold is None else _positive(threshold),
        speed=None
        if speed is None
        else Speed(cpu=str(speed["cpu"]), ratio=_positive(speed["ratio"]), median_ms=_positive(speed["median_ms"])),
    )


def _texts(values: Iterable[Any]) -> None:
    if not all(isinstance(value, str) for value in values):
        raise TypeError("answers")


def _positive(value: Any) -> float:
    if not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{_shown(value)} in place of a positive number")
    return float(value)


def _shown(value: object) -> str:
    return " ".join(str(value).split())[:100]
