"""Instructions of earlier checks, in the part of baseline.json that holds other processors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporters.checking import baseline
from models_tf.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Instructions of one inference by file and runtime; `rows` and `sha256` are of the data."""

    sha256: str
    rows: int | None
    versions: Mapping[str, str]
    files: Mapping[str, Mapping[str, int]]


def read(path: Path, arch: str) -> Counts:
    """An InputError if the file is no baseline, or has nothing for this processor."""
    section = _sections(path).get(arch)
    if section is None:
        raise InputError(f"{path} must hold a check with --arch {arch}. Received: none. Add it with --update-baseline.")
    try:
        data, files = section["data"], section["files"]
        rows = data["rows"]
        if rows is not None and not isinstance(rows, int):
            raise TypeError("rows")
        return Counts(
            sha256=str(data["sha256"]),
            rows=rows,
            versions={str(name): str(one) for name, one in section["versions"].items()},
            files={
                str(name): {str(runtime): _count(one) for runtime, one in counts.items()}
                for name, counts in files.items()
            },
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} must be as a check wrote it. Received: a damaged part {arch} ({str(error)[:100]}). "
            "Write it again with --update-baseline."
        ) from error


def write(path: Path, arch: str, counts: Counts) -> list[str]:
    """Replaces the part of this processor alone; files that were not checked now stay, on the same rows. Returns the
    files that had instructions on other rows, which are gone.
    """
    document = baseline.read_document(path) if path.is_file() else {}
    files: dict[str, Mapping[str, int]] = {}
    gone: list[str] = []
    if path.is_file() and arch in _sections(path):
        earlier = read(path, arch)
        if (earlier.sha256, earlier.rows) == (counts.sha256, counts.rows):
            files |= earlier.files
        else:
            gone = [name for name in earlier.files if name not in counts.files]
    section = {
        "data": {"sha256": counts.sha256, "rows": counts.rows},
        "versions": dict(counts.versions),
        "files": {name: dict(one) for name, one in (files | dict(counts.files)).items()},
    }
    others = document.get(baseline.PROCESSORS)
    processors = {**(others if isinstance(others, dict) else {}), arch: section}
    baseline.write_document(path, {**document, baseline.PROCESSORS: processors})
    return gone


def _sections(path: Path) -> dict[str, Any]:
    found = baseline.read_document(path).get(baseline.PROCESSORS, {})
    if not isinstance(found, dict):
        raise InputError(f'{path} must be as a check wrote it. Received: "{baseline.PROCESSORS}" is no object.')
    return found


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < math.inf:
        raise ValueError(f"instructions {str(value)[:40]}")
    return value
