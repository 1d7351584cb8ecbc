"""`CompressResult`: the written checkpoint and what was kept, as a value, as JSON and as text."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models_tf.encoder.heads import BASE


@dataclass(frozen=True, kw_only=True)
class CompressResult:
    """`checkpoint` was read, `output` holds the smaller one. `record` is what `--json` prints: what was kept, in the
    numbering of the model as read.
    """

    checkpoint: Path
    output: Path
    model: str
    parameters_before: int
    parameters_after: int
    record: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As `export-mobile compress --json` prints it."""
        return dict(self.record)

    def summary(self) -> str:
        """A few lines: what was kept, and what to do next."""
        record = self.record
        before, after = record["parameters"]["before"], record["parameters"]["after"]
        kept, dropped = record["layers"]["kept"], record["layers"]["dropped"]
        heads = " ".join(str(len(numbers)) for numbers in record["heads"]["kept"])
        neurons = " ".join(str(len(numbers)) for numbers in record["neurons"]["kept"])
        lines = [
            f"parameters: {before:,} -> {after:,} ({100 * after / before:.1f} %)",
            f"layers kept: {len(kept)} of {len(kept) + len(dropped)} ({' '.join(map(str, kept))})",
            f"heads kept in each: {heads}",
            f"FFN neurons kept in each: {neurons}",
        ]
        ghosts = record["ghosts"]
        if ghosts["heads"] or ghosts["folds"]:
            lines.append(
                f"ghosts in each, on {ghosts['on']}: {' '.join(map(str, ghosts['heads']))} beside the heads, "
                f"{' '.join(map(str, ghosts['folds']))} beside the FFN"
            )
        lines += _more_lines(record)
        if record["rows"]:
            lines.append(f"chosen on {record['rows']} rows of {record['data']}")
        following = ["export-mobile", "train", "--model", record["model"], "--checkpoint", record["output"]]
        if record["head"] != BASE:  # a base model has no answers to learn from
            following += ["--teacher", str(self.checkpoint)]
            # Hidden states are compared token by token.
            following += [] if "retention" in record else ["--hidden-weight", "1"]
        following += ["--train", "FILE", "--dev", "FILE", "--output", "DIR"]
        lines += [f"checkpoint: {record['output']}", f"to recover accuracy: {shlex.join(following)}"]
        return "".join(f"{line}\n" for line in lines)


def _more_lines(record: Mapping[str, Any]) -> list[str]:
    """One line each for what was shared, factorised, pruned and dropped."""
    lines = []
    if "shared_layers" in record:
        shared = record["shared_layers"]
        lines.append(f"weights of each layer: {' '.join(map(str, shared))} ({len(set(shared))} stored)")
    if "embedding" in record:
        found = record["embedding"]
        lost = f", {100 * found['discarded']:.1f} % of the table's squares lost" if "discarded" in found else ""
        lines.append(f"word embedding: width {found['before']} -> {found['after']}{lost}")
    if "vocabulary" in record:
        found = record["vocabulary"]
        lines.append(f"vocabulary: {found['before']:,} -> {found['after']:,} tokens ({found['in_data']:,} in the data)")
    if "retention" in record:
        found = record["retention"]
        lines.append(f"tokens kept after each layer, by {found['by']}: {' '.join(map(str, found['kept']))}")
    return lines
