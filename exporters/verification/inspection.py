"""Looks into the files written: sizes, histograms, sums, and whether the recipe was reached."""

import hashlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from exporters.anatomy.partitions import runtime_plan
from exporters.anatomy.run import anatomy
from exporters.formats import artifacts, zeros
from exporters.formats.artifacts import Placed
from exporters.report.report import GRAPH, FileRecord, LayerBytes

_WORKERS = 2


def inspect(placed: Sequence[Placed]) -> tuple[tuple[FileRecord, ...], tuple[str, ...]]:
    """Records of the model files, as they are on disk, and what is wrong with them. Large files are read in turn."""
    records, problems = list[FileRecord](), list[str]()
    for group in ([one for one in placed if not one.is_large], *([one] for one in placed if one.is_large)):
        found, wrong = _inspect(group)
        records += found
        problems += wrong
        artifacts.forget(group)
    order = [one.name for one in placed]
    return tuple(sorted(records, key=lambda record: order.index(record.name))), tuple(problems)


def _inspect(placed: Sequence[Placed]) -> tuple[list[FileRecord], list[str]]:
    with ThreadPoolExecutor(_WORKERS) as pool:
        # Each runtime is asked in a process of its own, and compression is native code: both leave this thread free.
        plans = [pool.submit(runtime_plan, one.file) for one in placed]
        zipped = [pool.submit(zeros.gzip_bytes, one.file.content) for one in placed]
        problems = [f"{one.name}: {problem}" for one in placed for problem in one.file.audit(one.recipe)]
        records = [
            _record(one, plan=plan.result().to_dict(), gzip_bytes=size.result())
            for one, plan, size in zip(placed, plans, zipped, strict=True)
        ]
    return records, problems


def others(paths: Iterable[Path]) -> tuple[FileRecord, ...]:
    """Records of files that are not models."""
    return tuple(
        FileRecord(
            name=path.name, size_bytes=len(content), sha256=_sha256(content), gzip_bytes=zeros.gzip_bytes(content)
        )
        for path, content in ((path, path.read_bytes()) for path in paths)
    )


def _record(placed: Placed, *, plan: dict[str, Any], gzip_bytes: int) -> FileRecord:
    file = placed.file
    zero = file.zero_share()
    return FileRecord(
        name=placed.name,
        size_bytes=file.size_bytes,
        sha256=_sha256(file.content),
        gzip_bytes=gzip_bytes,
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
        runtime_plan=plan,
    )


def _layers(placed: Placed) -> tuple[LayerBytes, ...]:
    """Those of an inspection, and the rest of the file."""
    try:
        found = anatomy(placed.file, runtime=False).layers
    except NotImplementedError:  # a format may do without
        return ()
    rest = placed.file.size_bytes - sum(found.values())
    return (*(LayerBytes(name=name, bytes=size) for name, size in found.items()), LayerBytes(name=GRAPH, bytes=rest))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
