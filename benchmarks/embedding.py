"""Size and accuracy of a smaller word embedding: pruned to the words of a file, factorised, or also distilled.

    python benchmarks/embedding.py CHECKPOINT PREPARED WORK --report FILE

CHECKPOINT is a fine-tuned BERT, PREPARED a folder of `prepare_data.py` with `sst2/`. --shared also compares layers that
share weights, started from the first layer of each group or from the mean, after the same few steps. As that is a
choice, it is made on held-out training rows.
"""

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import frontier
import in_turn
import numpy as np
import pruning

RECOVERY_ROWS = 6_400
SIZE = 128
RECIPES = ("float32", "int8")
NAMES = VOCABULARY, FACTORISED, DISTILLED = ("vocabulary", f"embedding {SIZE}", f"embedding {SIZE}, distilled")
GROUPS = 3
SHARED = {f"shared from {start}": start for start in ("first", "mean")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("checkpoint", "prepared", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--report", type=Path, metavar="FILE", help="export and measure all")
    parser.add_argument("--shared", action="store_true", help="compare shared layers too")
    args = parser.parse_args()
    data = args.prepared / "sst2"
    frontier.sample(data / "train.tsv", args.work / "recovery.tsv", RECOVERY_ROWS, seed=3)
    words = ("--prune-vocab", "--vocab-data", data / "train.tsv")
    narrow = ("--embedding-size", SIZE)
    for name, flags in ((VOCABULARY, words), (FACTORISED, narrow)):
        if not (folder(args, name) / "config.json").is_file():
            pruning.run(["compress", "--checkpoint", args.checkpoint, "--output", folder(args, name), *flags])
    distill(args, DISTILLED, narrow)
    for name, start in SHARED.items() if args.shared else ():
        distill(args, name, ("--share-layers", GROUPS, "--share-from", start, "--freeze-embedding"))
    if args.report:
        args.report.write_text(json.dumps(report(args), indent=2) + "\n", encoding="utf-8")


def folder(args: argparse.Namespace, name: str) -> Path:
    return args.work / pruning.slug(name)


def distill(args: argparse.Namespace, name: str, flags: tuple[Any, ...]) -> None:
    """Compresses and trains, in one command."""
    output = folder(args, name)
    if (output / "training.json").is_file():
        return
    command: list[Any] = ["train", "--model", "bert", "--checkpoint", args.checkpoint, "--teacher", args.checkpoint]
    command += ["--train", args.work / "recovery.tsv", "--dev", args.prepared / "sst2" / "dev.tsv", "--output", output]
    command += ["--force", *flags, *(word for pair in frontier.TRAINING.items() for word in pair)]
    pruning.run([*command, *frontier.NO_DROPOUT])


def report(args: argparse.Namespace) -> dict[str, Any]:
    data = args.prepared / "sst2"
    found: dict[str, Any] = {}
    for name in (frontier.DENSE, *NAMES):
        checkpoint = args.checkpoint if name == frontier.DENSE else folder(args, name)
        for recipe in RECIPES:
            exported = in_turn.export(
                checkpoint,
                args.work / recipe / pruning.slug(name),
                eval_data=data / "test.tsv",
                calibration_data=data / "train.tsv",
                length=frontier.LENGTH,
                quantize=recipe,
            )
            measured = in_turn.measured(exported)
            files = {target: measured.pop(target) for target in in_turn.TARGETS}
            found[name] = {**found.get(name, {}), **measured, recipe: files}
        record = checkpoint / "compression.json"
        if record.is_file():
            removed = json.loads(record.read_text(encoding="utf-8"))
            found[name] |= {key: removed[key] for key in ("vocabulary", "embedding") if key in removed}
    held_out = {
        name: {key: values[key] for key in ("dev_score", "dev_standard_error", "dev_rows")}
        for name in (DISTILLED, *(SHARED if args.shared else ()))
        for values in [json.loads((folder(args, name) / "training.json").read_text(encoding="utf-8"))]
    }
    return {
        "command": f"python benchmarks/embedding.py {shlex.join(in_turn.redact(word) for word in sys.argv[1:])}",
        "data": "SST-2 dev, all rows; vocabulary of its train set, distilled on some rows of it",
        "recovery": {"steps": RECOVERY_ROWS // frontier.BATCH, "rows": RECOVERY_ROWS, **frontier.TRAINING},
        "models": found,
        "int8_error_by_share_in_table": int8_errors(args.checkpoint),
        "held_out": {"data": "rows of SST-2's train set that were left out of training", "models": held_out},
        **({"shared_groups": GROUPS} if args.shared else {}),
    }


def int8_errors(checkpoint: Path) -> dict[str, float]:
    """Relative squared error of the narrow product in int8, by how much of the singular values is in the table. One
    scale for the table and one per column of the matrix, as in the files.
    """
    from models_tf.checkpoints import encoder as checkpoints
    from models_tf.compress.factorize import factors

    table = checkpoints.load(checkpoint).tensors["word_embedding"].astype(np.float64)
    words, kernel = factors(table, SIZE)
    roots = np.linalg.norm(kernel, axis=1)  # of the singular values
    exact, found = words @ kernel, {}
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        scale = roots ** (2.0 * share - 1.0)
        product = _rounded(words * scale, None) @ _rounded(kernel / scale[:, None], 0)
        found[str(share)] = float(((product - exact) ** 2).sum() / (exact**2).sum())
    whole = _rounded(table, None)
    return {**found, "whole table": float(((whole - table) ** 2).sum() / (table**2).sum())}


def _rounded(values: np.ndarray, axis: int | None) -> np.ndarray:
    scale = np.abs(values).max(axis=axis, keepdims=True) / 127
    return np.round(values / scale) * scale


if __name__ == "__main__":
    main()
