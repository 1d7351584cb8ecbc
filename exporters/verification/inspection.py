"""Looks into the files written: sizes, histograms, sums, and whether the recipe was reached."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from exporters.formats import zeros
from exporters.formats.artifacts import Placed
from exporters.formats.layers import LayerBytes, layers
from exporters.report.report import FileRecord


def inspect(placed: Sequence[Placed]) -> tuple[tuple[FileRecord, ...], tuple[str, ...]]:
    """Records of the model files, as they are on disk, and what is wrong with them."""
    problems = [f"{one.name}: {problem}" for one in placed for problem in one.file.audit(one.recipe)]
    return tuple(_record(one) for one in placed), tuple(problems)


def others(paths: Iterable[Path]) -> tuple[FileRecord, ...]:
    """Records of files that are not models."""
    return tuple(
        FileRecord(
            name=path.name, size_bytes=len(content), sha256=_sha256(content), gzip_bytes=zeros.gzip_bytes(content)
        )
        for path, content in ((path, path.read_bytes()) for path in paths)
    )


def _record(placed: Placed) -> FileRecord:
    file = placed.file
    zero = file.zero_share()
    return FileRecord(
        name=placed.name,
        size_bytes=file.size_bytes,
        sha256=_sha256(file.content),
        gzip_bytes=zeros.gzip_bytes(file.content),
        layers=_layers(placed),
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


def _layers(placed: Placed) -> tuple[LayerBytes, ...]:
    try:
        graph = placed.format.op_graph(placed.file)
    except NotImplementedError:  # a format may do without
        return ()
    return layers(graph, placed.file.size_bytes)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
