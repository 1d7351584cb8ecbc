"""What a model loses without some heads or layers, before and after a short recovery.

    python benchmarks/pruning.py CHECKPOINT PREPARED WORK --report FILE

CHECKPOINT is a fine-tuned BERT, PREPARED a folder of `prepare_data.py` with `sst2/`. Removed are 40 % of the heads, by
importance or at random (two draws), two layers from the top or the bottom, or weights by movement pruning. Each model
is then distilled from the whole one with the same few steps (movement pruning learns while it prunes, with more). Bytes
and latency are those of the int8 files.
"""

import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import frontier
import in_turn

from exporters.report.versions import cpu_name

RECOVERY_ROWS = 6_400
_GLOBAL = ("--prune-heads", "0.4", "--head-scope", "global", "--head-importance")
CUTS: dict[str, tuple[str, ...]] = {
    "heads by importance": (*_GLOBAL, "mask"),
    **{f"heads by chance, seed {seed}": (*_GLOBAL, "random", "--seed", str(seed)) for seed in range(2)},
    "top 2 layers": ("--drop-layers", "top:2"),
    "bottom 2 layers": ("--drop-layers", "bottom:2"),
}
MOVEMENT: dict[str, tuple[str, ...]] = {
    "movement, half kept": ("--movement", "topk", "--movement-keep", "0.5"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("checkpoint", "prepared", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--report", type=Path, metavar="FILE", help="export and measure all")
    args = parser.parse_args()
    data = args.prepared / "sst2"
    frontier.sample(data / "train.tsv", args.work / "train.tsv", frontier.TRAIN_ROWS, seed=2)
    frontier.sample(data / "train.tsv", args.work / "recovery.tsv", RECOVERY_ROWS, seed=3)
    for name, flags in CUTS.items():
        cut = args.work / "cut" / slug(name)
        if not (cut / "config.json").is_file():
            command = ["compress", "--checkpoint", args.checkpoint, "--output", cut, *flags]
            command += ["--max-seq-len", frontier.LENGTH]
            command += ["--data", data / "train.tsv"] if "mask" in flags else []
            run(command)
        distill(name, cut, args, args.work / "recovery.tsv", ("--freeze-embedding",))
    for name, flags in MOVEMENT.items():
        distill(name, args.checkpoint, args, args.work / "train.tsv", flags)
    if args.report:
        args.report.write_text(json.dumps(report(args), indent=2) + "\n", encoding="utf-8")


def slug(name: str) -> str:
    return name.replace(",", "").replace("%", "percent").replace(" ", "-")


def run(command: list[Any]) -> None:
    subprocess.run([sys.executable, "-m", "exporters", *map(str, command)], check=True)


def distill(name: str, start: Path, args: argparse.Namespace, rows: Path, flags: tuple[str, ...]) -> None:
    output = args.work / "trained" / slug(name)
    if (output / "training.json").is_file():
        return
    command: list[Any] = ["train", "--model", "bert", "--checkpoint", start, "--teacher", args.checkpoint]
    command += ["--train", rows, "--dev", args.prepared / "sst2" / "dev.tsv", "--output", output, "--force", *flags]
    command += [word for pair in frontier.TRAINING.items() for word in pair]
    run([*command, *frontier.NO_DROPOUT])


def report(args: argparse.Namespace) -> dict[str, Any]:
    data = args.prepared / "sst2"
    checkpoints = {frontier.DENSE: args.checkpoint}
    checkpoints |= {name: args.work / "trained" / slug(name) for name in (*CUTS, *MOVEMENT)}
    folders = {name: args.work / "int8" / slug(name) for name in checkpoints}
    found: dict[str, Any] = {}
    for name, checkpoint in checkpoints.items():
        exported = in_turn.export(
            checkpoint,
            folders[name],
            eval_data=data / "test.tsv",
            calibration_data=data / "train.tsv",
            length=frontier.LENGTH,
        )
        found[name] = in_turn.measured(exported)
        if name in CUTS:
            found[name]["float_right_before_recovery"] = right_before(args.work / "cut" / slug(name), data / "test.tsv")
        for file in exported["files"] if name in MOVEMENT else ():
            if file["target"] in in_turn.TARGETS:
                found[name][file["target"]] |= {key: file[key] for key in ("zero_weights", "compressed_bytes")}
    ratios = in_turn.ratios(folders, base=frontier.DENSE, rounds=frontier.ROUNDS)
    for name, values in found.items():
        for target in in_turn.TARGETS:
            values[target]["latency_ratio"] = ratios[name][target]
    return {
        "command": f"python benchmarks/pruning.py {shlex.join(in_turn.redact(word) for word in sys.argv[1:])}",
        "data": "SST-2 dev, all rows; recovered on some rows of its train set",
        "recovery": {"steps": RECOVERY_ROWS // frontier.BATCH, "rows": RECOVERY_ROWS, **frontier.TRAINING},
        "movement": {"steps": frontier.TRAIN_ROWS // frontier.BATCH, "rows": frontier.TRAIN_ROWS},
        "latency": {
            "cpu": cpu_name(),
            "threads": 1,
            "rounds": frontier.ROUNDS,
            "time": "of the processor",
            "against": "int8 of the whole model, same runtime",
        },
        "models": found,
    }


def right_before(folder: Path, path: Path) -> int:
    """Rows that the model gets right just after the cut, in Keras."""
    from models_tf.checkpoints import encoder as checkpoint
    from models_tf.encoder.batches import Predictor
    from models_tf.encoder.model import Encoder
    from models_tf.tasks import CLASSIFICATION, read_rows
    from models_tf.tasks.rows import Columns
    from models_tf.tokenizers.tokenizer import Tokenizer

    found = checkpoint.load(folder)
    tokenizer = Tokenizer.from_files(found.tokenizer_files, str(folder))
    columns = Columns(text=None, pair=None, label=None)
    rows = read_rows(
        CLASSIFICATION, path, tokenizer=tokenizer, labels=found.labels, max_len=frontier.LENGTH, columns=columns
    )
    score = rows.score(Predictor(Encoder(found.config, found.head, found.tensors))(rows.inputs))
    return round(score.value * score.n / 100)


if __name__ == "__main__":
    main()
