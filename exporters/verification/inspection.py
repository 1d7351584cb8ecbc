"""Looks into the files written: sizes, histograms, sums, and whether the recipe was reached."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from exporters.formats import audit, zeros
from exporters.formats.artifacts import Artifact
from exporters.report.report import FileRecord
from quantize.recipe import Recipe

Placed = tuple[Artifact, Path]


def inspect(
    placed: Iterable[Placed], recipe: Recipe, *, others: Sequence[str]
) -> tuple[tuple[FileRecord, ...], tuple[str, ...]]:
    """Records of all files, read back from disk, and what is wrong with them. `others` are not models."""
    records, problems = [], []
    folder = Path()
    for artifact, path in placed:
        folder, content = path.parent, path.read_bytes()
        found = audit.audit(content, target=artifact.target)
        problems += [f"{artifact.name}: {problem}" for problem in found.problems(recipe)]
        zero = zeros.zero_share(content, target=artifact.target)
        records.append(
            FileRecord(
                name=artifact.name,
                size_bytes=len(content),
                sha256=hashlib.sha256(content).hexdigest(),
                target=artifact.target,
                graph=artifact.graph,
                parameters=found.parameters,
                weight_bytes=found.weight_bytes,
                overhead_bytes=found.overhead_bytes,
                zero_weights=zero,
                compressed_bytes=zeros.compressed_bytes(content) if zero >= zeros.NOTABLE_SHARE else None,
                ops=dict(found.ops),
                dtypes=dict(found.dtypes),
                min_runtime=found.min_runtime,
            )
        )
    for name in others:
        content = (folder / name).read_bytes()
        records.append(FileRecord(name=name, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest()))
    return tuple(records), tuple(problems)
