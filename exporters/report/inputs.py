"""The files that an export read, each with its SHA-256, so that a result can be traced to them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from exporters.data.rows import GENERATED, Rows
from exporters.request import ExportRequest
from models_tf.folders.manifest import entry_of

CHECKPOINT = "checkpoint"


@dataclass(frozen=True, kw_only=True)
class InputRecord:
    """`role` is `checkpoint`, or the field of the request. Files of a checkpoint go by their name."""

    role: str
    path: str
    size_bytes: int
    sha256: str


def input_records(request: ExportRequest, checkpoint: Iterable[Path], rows: Rows) -> tuple[InputRecord, ...]:
    """The files of the checkpoint, those of the rows (bundled or given), and further ones of the request."""
    found = [_record(CHECKPOINT, path, path.name) for path in checkpoint]
    given: list[tuple[str, Path | None]] = []
    if rows.source != GENERATED:
        given.append(("eval_data", Path(rows.source)))
    if rows.calibration is not None and rows.calibration_source not in (GENERATED, rows.source):
        given.append(("calibration_data", Path(rows.calibration_source)))
    given += [("importance_data", request.importance_data), *(("vocab_data", path) for path in request.vocab_data)]
    for role, path in given:
        if path is not None:
            found += [_record(role, file, str(file)) for file in _files(path)]
    return tuple(found)


def _files(path: Path) -> Iterator[Path]:
    """The file, or those of a folder."""
    if path.is_dir():
        yield from sorted(file for file in path.iterdir() if file.is_file())
    elif path.is_file():
        yield path


def _record(role: str, path: Path, shown: str) -> InputRecord:
    entry = entry_of(path)
    return InputRecord(role=role, path=shown, size_bytes=entry.size_bytes, sha256=entry.sha256)
