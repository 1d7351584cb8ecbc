"""Looks into the files written: sizes, histograms, sums, and whether the recipe was reached."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from exporters.formats import zeros
from exporters.formats.artifacts import Placed
from exporters.report.report import FileRecord


def inspect(placed: Sequence[Placed], others: Iterable[Path]) -> tuple[tuple[FileRecord, ...], tuple[str, ...]]:
    """Records of all files, as they are on disk, and what is wrong with them. `others` are not models."""
    records, problems = [_record(one) for one in placed], []
    for one in placed:
        problems += [f"{one.name}: {problem}" for problem in one.file.audit(one.recipe)]
    for path in others:
        content = path.read_bytes()
        records.append(FileRecord(name=path.name, size_bytes=len(content), sha256=_sha256(content)))
    return tuple(records), tuple(problems)


def _record(placed: Placed) -> FileRecord:
    file = placed.file
    zero = file.zero_share()
    return FileRecord(
        name=placed.name,
        size_bytes=file.size_bytes,
        sha256=_sha256(file.content),
        target=placed.format.name,
        graph=placed.graph,
        parameters=file.parameters,
        weight_bytes=file.weight_bytes,
        overhead_bytes=file.overhead_bytes,
        zero_weights=zero,
        compressed_bytes=zeros.compressed_bytes(file.content) if zero >= zeros.NOTABLE_SHARE else None,
        ops=dict(file.ops),
        dtypes=dict(file.dtypes),
        min_runtime=file.min_runtime,
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
