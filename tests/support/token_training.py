"""A toy task and the smallest BERTs, trained in this process."""

import random
from pathlib import Path
from typing import Any

import numpy as np

from models_tf.checkpoints import encoder as checkpoint
from support.train_requests import Lines, run

GOOD, BAD = ["good", "great", "fine"], ["bad", "poor", "awful"]
FILLERS = [f"w{number}" for number in range(49)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BERT_SIZES = {
    "num_hidden_layers": 2, "hidden_size": 12, "intermediate_size": 16, "num_attention_heads": 3,
    "max_position_embeddings": 24, "attention_probs_dropout_prob": 0.0, "hidden_dropout_prob": 0.0,
}  # fmt: skip
FAST = ("--learning-rate", "1e-2", "--average", "0.8")


def write_task(folder: Path, generator: random.Random, *, train_rows: int = 192) -> Path:
    """`train.tsv`, `dev.tsv` and `vocab.txt`: whether a text holds a good or a bad word."""
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL, *GOOD, *BAD, *FILLERS]) + "\n")
    for name, count in (("train", train_rows), ("dev", 64)):
        lines = ["sentence\tlabel"]
        for _ in range(count):
            label = generator.randrange(2)
            words = [generator.choice(FILLERS) for _ in range(generator.randrange(1, 6))]
            words.insert(generator.randrange(len(words) + 1), generator.choice(GOOD if label else BAD))
            lines.append(f"{' '.join(words)}\t{label}")
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return folder


def train(
    files: Path, output: Path, *options: str, model: str = "bert", show: bool = False, **sizes: int
) -> dict[str, Any]:
    """The record of the training, or with `show` the lines it prints, as "stderr".

    Without --checkpoint a new BERT of `BERT_SIZES`, changed by `sizes`.
    """
    given = ["--model", model, "--batch-size", "16", "--output", str(output)]
    given += ["--train", str(files / "train.tsv"), "--dev", str(files / "dev.tsv"), "--max-seq-len", "12"]
    if "--checkpoint" not in options and model != "prado":
        if "--vocab" not in options:
            given += ["--vocab", str(files)]
        given += [part for key, value in {**BERT_SIZES, **sizes}.items() for part in ("--set", f"{key}={value}")]
    progress = Lines()
    found = run(*given, *options, progress=progress)
    return {"stderr": "".join(f"{line}\n" for line in progress.lines)} if show else found


def weights_of(folder: Path) -> dict[str, np.ndarray]:
    return checkpoint.load(folder).tensors
