"""A toy task, the smallest encoders trained on it in this process, and whom a training tells where it stands."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exporters import TrainRequest
from exporters import train as train_model
from models_tf import registry
from models_tf.checkpoints import encoder as checkpoint
from models_tf.training.progress import Progress, Silent

GOOD, BAD = ["good", "great", "fine"], ["bad", "poor", "awful"]
TAGS = {"good": "B-good", "great": "B-good", "bad": "B-bad", "poor": "B-bad"}
FILLERS = [f"w{number}" for number in range(49)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BERT_SIZES = {
    "num_hidden_layers": 2, "hidden_size": 12, "intermediate_size": 16, "num_attention_heads": 3,
    "max_position_embeddings": 24, "attention_probs_dropout_prob": 0.0, "hidden_dropout_prob": 0.0,
}  # fmt: skip
MOBILEBERT_SIZES = {
    "num_hidden_layers": 2, "hidden_size": 16, "embedding_size": 8, "intra_bottleneck_size": 8, "intermediate_size": 16,
    "num_attention_heads": 2, "num_feedforward_networks": 2, "max_position_embeddings": 24,
    "attention_probs_dropout_prob": 0.0,
}  # fmt: skip
FAST: dict[str, Any] = {"learning_rate": 1e-2, "average": 0.8}
COMMAND = "export-mobile train --of-a-test"


class Lines(Silent):
    """A progress that keeps the lines that stay."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)


class KilledError(Exception):
    pass


class KilledAt(Silent):
    """The training dies when it reports this batch, counted from its start: all batches before it may be saved."""

    def __init__(self, batch: int) -> None:
        self.left = batch

    def live(self, text: str) -> None:
        self.left -= "  batch " in text
        if not self.left:
            raise KilledError


def sentence(generator: random.Random, label: int) -> str:
    """A few words, one of which is good or bad."""
    words = [generator.choice(FILLERS) for _ in range(generator.randrange(1, 6))]
    words.insert(generator.randrange(len(words) + 1), generator.choice(GOOD if label else BAD))
    return " ".join(words)


def write_task(folder: Path, generator: random.Random, *, train_rows: int = 192) -> Path:
    """`train.tsv`, `dev.tsv` and `vocab.txt`: whether a text holds a good or a bad word."""
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL, *GOOD, *BAD, *FILLERS]) + "\n")
    for name, count in (("train", train_rows), ("dev", 64)):
        lines = ["sentence\tlabel"]
        for _ in range(count):
            label = generator.randrange(2)
            lines.append(f"{sentence(generator, label)}\t{label}")
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return folder


def write_tags(folder: Path) -> None:
    """`train.conll` and `dev.conll`: the words of `write_task`, with tags."""
    for name in ("train", "dev"):
        texts = [line.split("\t")[0] for line in (folder / f"{name}.tsv").read_text().splitlines()[1:]]
        words = ("".join(f"{word}\t{TAGS.get(word, 'O')}\n" for word in text.split()) + "\n" for text in texts)
        (folder / f"{name}.conll").write_text("".join(words))


def write_questions(folder: Path, generator: random.Random, *, train_rows: int, dev_rows: int) -> None:
    """`train.json` and `dev.json`: which word is the good or the bad one, as SQuAD asks."""
    for name, count in (("train", train_rows), ("dev", dev_rows)):
        paragraphs = []
        for number in range(count):
            context = sentence(generator, generator.randrange(2))
            answer = next(word for word in context.split() if word in (*GOOD, *BAD))
            found = {"text": answer, "answer_start": context.index(answer)}
            question = {"id": str(number), "question": "w0 w1", "answers": [found]}
            paragraphs.append({"context": context, "qas": [question]})
        document = {"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}
        (folder / f"{name}.json").write_text(json.dumps(document))


def overrides(sizes: Mapping[str, Any]) -> tuple[str, ...]:
    """The sizes as a request takes them."""
    return tuple(f"{key}={value}" for key, value in sizes.items())


def train(
    files: Path,
    output: Path,
    *,
    model: str = "bert",
    sizes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """The record of the training. `fields` are those of `TrainRequest`; by default it is the task of `write_task`.

    A token model without `checkpoint` is new and tiny, changed by `sizes`.
    """
    given: dict[str, Any] = {"train": files / "train.tsv", "dev": files / "dev.tsv", "max_seq_len": 12,
                             "batch_size": 16}  # fmt: skip
    if "checkpoint" not in fields and model in registry.names(registry.TOKENS):
        own = MOBILEBERT_SIZES if model == "mobilebert" else BERT_SIZES
        given["vocab"] = files
        fields["overrides"] = (*overrides({**own, **(sizes or {})}), *fields.get("overrides", ()))
    request = TrainRequest(**{**given, "model": model, "output": output, **fields})
    return train_model(request, progress=progress, command=COMMAND).to_dict()


def weights_of(folder: Path) -> dict[str, np.ndarray]:
    return checkpoint.load(folder).tensors
