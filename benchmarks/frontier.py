"""Width against accuracy: a BERT with 12, 9, 6 and 3 of 12 parts of its heads and FFN neurons, with and without ghosts.

    python benchmarks/frontier.py CHECKPOINT PREPARED WORK --only ghost-6 width-6

CHECKPOINT is a fine-tuned BERT, PREPARED a folder of `prepare_data.py` with `sst2/`. Every model is cut by importance
on the same rows and distilled from the whole model with the same steps. Models finished in WORK are kept; stopped ones
continue. `--report FILE` exports all of them to int8, measures accuracy on the test rows, bytes and one-thread latency
in turns, and writes the figures.
"""

import argparse
import dataclasses
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import in_turn
import numpy as np

from exporters.report.versions import cpu_name

PARTS = 12
WIDTHS = (12, 9, 6, 3)
IMPORTANCE_ROWS, TRAIN_ROWS = 2048, 32_000
LENGTH, BATCH = 64, 32
ROUNDS = 40
DENSE = "dense"
# How they were chosen: docs/ghostbert.md.
TRAINING = {
    "--epochs": "1",
    "--batch-size": str(BATCH),
    "--max-seq-len": str(LENGTH),
    "--learning-rate": "1e-4",
    "--teacher-weight": "1",
    "--temperature": "1",
    "--hidden-weight": "1",
}
NO_DROPOUT = ("--set", "hidden_dropout_prob=0", "--set", "attention_probs_dropout_prob=0")
FAMILIES = {"width": "bert", "ghost": "ghostbert", "outputs": "ghostbert"}


def names() -> list[str]:
    return [f"{kind}-{width}" for width in WIDTHS for kind in ("width", "ghost")] + ["outputs-6"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("prepared", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--only", nargs="+", default=names(), choices=names(), metavar="NAME")
    parser.add_argument(
        "--train-rows", type=int, default=TRAIN_ROWS, metavar="N", help="rows of one epoch, once for WORK"
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="export and measure what --only names")
    args = parser.parse_args()
    sample(args.prepared / "sst2" / "train.tsv", args.work / "importance.tsv", IMPORTANCE_ROWS, seed=1)
    sample(args.prepared / "sst2" / "train.tsv", args.work / "train.tsv", args.train_rows, seed=2)
    make_starts(args.checkpoint, args.work, args.only)
    for name in args.only:
        train(name, args.checkpoint, args.prepared / "sst2" / "dev.tsv", args.work)
    if args.report:
        args.report.write_text(json.dumps(report(args), indent=2) + "\n", encoding="utf-8")


def report(args: argparse.Namespace) -> dict[str, Any]:
    """Accuracy, parameters, bytes and latency of the whole model and all others."""
    checkpoints = {DENSE: args.checkpoint, **{name: args.work / "trained" / name for name in args.only}}
    folders = {name: args.work / "int8" / name for name in checkpoints}
    found = {}
    for name, checkpoint in checkpoints.items():
        exported = in_turn.export(
            checkpoint,
            folders[name],
            eval_data=args.prepared / "sst2" / "test.tsv",
            calibration_data=args.prepared / "sst2" / "train.tsv",
            length=LENGTH,
        )
        found[name] = in_turn.measured(exported)
        if name != DENSE:
            trained = json.loads((checkpoint / "training.json").read_text(encoding="utf-8"))
            found[name]["held_out_accuracy"], found[name]["seconds"] = trained["dev_score"], trained["seconds"]
    ratios = in_turn.ratios(folders, base=DENSE, rounds=ROUNDS)
    for name, values in found.items():
        for target in in_turn.TARGETS:
            values[target]["latency_ratio"] = ratios[name][target]
    return {
        "command": f"python benchmarks/frontier.py {shlex.join(in_turn.redact(word) for word in sys.argv[1:])}",
        "data": "SST-2 dev, all rows; trained on some rows of its train set, dev of the training: held-out rows of it",
        "training": {
            "steps": args.train_rows // BATCH,
            "rows": args.train_rows,
            "importance_rows": IMPORTANCE_ROWS,
            **TRAINING,
        },
        "latency": {
            "cpu": cpu_name(),
            "threads": 1,
            "rounds": ROUNDS,
            "time": "of the processor",
            "against": "int8 of the whole model, same runtime",
        },
        "models": found,
    }


def sample(source: Path, target: Path, count: int, *, seed: int) -> None:
    """Writes the header and some rows of `source` to `target`, the same ones each time."""
    if target.is_file():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    header, *rows = source.read_text(encoding="utf-8").splitlines()
    picked = np.random.default_rng(seed).permutation(len(rows))[:count]
    target.write_text("\n".join([header, *(rows[row] for row in picked)]) + "\n", encoding="utf-8")


def make_starts(checkpoint: Path, work: Path, wanted: list[str]) -> None:
    """Models cut by importance, with ghosts added, not yet trained."""
    missing = [name for name in wanted if not (work / "start" / name / "config.json").is_file()]
    if not missing:
        return
    from models_tf.checkpoints import encoder as checkpoints
    from models_tf.compress import ghosts, width
    from models_tf.encoder.network import Network

    origin = checkpoints.load(checkpoint)
    network = Network(config=origin.config, head=origin.head, tensors=origin.tensors)
    found = measure_importance(origin, network, work / "importance.tsv")
    for name in missing:
        kind, number = name.split("-")
        parts, fold = int(number), network.config.fold_size
        small = width.keep_heads(network, [first(scores, parts) for scores in found.heads])
        small = width.keep_neurons(small, [first(scores, parts * fold) for scores in found.neurons])
        if kind != "width":
            heads, folds = ghosts.ghosts_for(small.config)
            form = "outputs" if kind == "outputs" else "heads"
            small = ghosts.add_ghosts(small, heads=heads, folds=folds, ghost_on=form)
        model = dataclasses.replace(origin, model_name=FAMILIES[kind], config=small.config, tensors=dict(small.tensors))
        checkpoints.save(work / "start" / name, model)


def measure_importance(origin, network, path):  # type: ignore[no-untyped-def]
    """DynaBERT's importance: the gradient of a mask, on labelled rows."""
    import tensorflow as tf

    from models_tf.compress import importance
    from models_tf.spec import LOGITS
    from models_tf.tasks import CLASSIFICATION, read_rows
    from models_tf.tasks.rows import Columns
    from models_tf.tokenizers.tokenizer import Tokenizer

    tokenizer = Tokenizer.from_files(origin.tokenizer_files, str(path))
    columns = Columns(text=None, pair=None, label=None)
    rows = read_rows(CLASSIFICATION, path, tokenizer=tokenizer, labels=origin.labels, max_len=LENGTH, columns=columns)
    labels = rows.targets[LOGITS]
    batches = (
        {name: tf.constant(value[start : start + BATCH]) for name, value in {**rows.inputs, "labels": labels}.items()}
        for start in range(0, len(rows), BATCH)
    )

    def loss(outputs, batch):  # type: ignore[no-untyped-def]
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(batch["labels"], outputs[LOGITS])
        return tf.reduce_mean(losses)

    return importance.measure(network, batches, loss)


def first(scores: np.ndarray, count: int) -> list[int]:
    """The `count` most important ones, the most important first."""
    return [int(number) for number in np.argsort(-scores, kind="stable")[:count]]


def train(name: str, teacher: Path, dev: Path, work: Path) -> None:
    output = work / "trained" / name
    state = output.is_dir() and any(path.name.startswith("state") for path in output.iterdir())
    if (output / "training.json").is_file() and not state:
        return
    command = [sys.executable, "-m", "exporters", "train", "--model", FAMILIES[name.split("-", maxsplit=1)[0]]]
    command += ["--checkpoint", str(work / "start" / name), "--teacher", str(teacher)]
    command += ["--train", str(work / "train.tsv"), "--dev", str(dev), "--output", str(output), "--freeze-embedding"]
    command += [word for pair in TRAINING.items() for word in pair] + list(NO_DROPOUT)
    subprocess.run([*command, *(["--resume"] if state else [])], check=True)


if __name__ == "__main__":
    main()
