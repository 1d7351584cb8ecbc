"""Rows of a data file for measurements before compression: importance (with labels) and contribution (texts only)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from models_tf.bounded_files import what_is
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.checkpoints.sequence_length import DEFAULT_LENGTH, QUESTION_LENGTH, sequence_length
from models_tf.compress.importance import Loss
from models_tf.encoder.batches import lengths_of
from models_tf.encoder.heads import BASE, CLASSIFICATION, QUESTION_ANSWERING, TOKEN_CLASSIFICATION
from models_tf.errors import InputError
from models_tf.spec import IDS, MASK, SEGMENTS
from models_tf.tasks import read_rows, task_of_head
from models_tf.tasks.losses import task_loss
from models_tf.tasks.multi_label import Several
from models_tf.tasks.rows import Columns, TaskRows
from models_tf.tokenizers.tokenizer import Tokenizer

# Gradients are summed over a batch before the absolute value is taken; DynaBERT's batches have 32 rows.
BATCH_SIZE = 32
_TARGET = "target:"


def task_of(checkpoint: EncoderCheckpoint, given: str | None = None) -> str:
    """The head's task; `given` must agree with it. A base model has no task and so no loss."""
    kind = checkpoint.head.kind
    if kind == BASE:
        raise InputError(
            "Importance and accuracy need a model with a head, fine-tuned on a task. Received: a base model; train it "
            "first with `export-mobile train`."
        )
    own = task_of_head(checkpoint.head, several=checkpoint.gives_several)
    if given not in (None, own):
        raise InputError(f"--task must be {own}, which the checkpoint's head is for. Received: {given}.")
    return own


def read(
    checkpoint: EncoderCheckpoint,
    path: Path,
    *,
    task: str | None = None,
    columns: Columns | None = None,
    max_seq_len: int | None = None,
    labelled: bool = True,
    flag: str = "--data",
) -> TaskRows:
    """All rows of the file as the checkpoint reads them; texts only unless `labelled`, which any model can read."""
    if not path.is_file() and not (
        path.is_dir() and checkpoint.head.kind in (TOKEN_CLASSIFICATION, QUESTION_ANSWERING)
    ):
        raise InputError(f"{flag} must be a file. Received: {path} ({what_is(path)}).")
    if labelled or checkpoint.head.kind != BASE:
        task = task_of(checkpoint, task)
    else:
        task = CLASSIFICATION
    tokenizer = Tokenizer.from_files(checkpoint.tokenizer_files, f"Checkpoint of {checkpoint.model_name}")
    tokenizer.check_embedding(checkpoint.config.vocab_size)
    default = QUESTION_LENGTH if task == QUESTION_ANSWERING else DEFAULT_LENGTH
    found = read_rows(
        task,
        path,
        tokenizer=tokenizer,
        labels=checkpoint.labels,
        max_len=sequence_length(checkpoint, max_seq_len, default=default),
        columns=columns,
        labelled=labelled,
        several=Several() if labelled and checkpoint.gives_several else None,
    )
    if labelled and not found.labelled:
        raise InputError(f"{flag} must have labels, to learn what matters. Received: {path} without.")
    return found


def draw(rows: TaskRows, count: int, seed: int) -> TaskRows:
    """`count` random rows in the file's order; random, since files are often sorted by label."""
    if len(rows) <= count:
        return rows
    return rows.take(np.sort(np.random.default_rng(seed).choice(len(rows), count, replace=False)))


def batches(rows: TaskRows, size: int = BATCH_SIZE) -> Iterator[dict[str, tf.Tensor]]:
    """In row order, with targets, each cut to its longest row."""
    lengths = lengths_of(rows.inputs)
    for start in range(0, len(rows), size):
        end = min(start + size, len(rows))
        longest = int(lengths[start:end].max())
        found = {name: tf.constant(rows.inputs[name][start:end, :longest]) for name in (IDS, MASK, SEGMENTS)}
        for name, values in (rows.targets or {}).items():
            # Targets with one place per token (tags) are cut as well.
            places = rows.task == TOKEN_CLASSIFICATION
            found[_TARGET + name] = tf.constant(values[start:end, :longest] if places else values[start:end])
        yield found


def loss_of(task: str) -> Loss:
    """The task's loss on a batch from `batches`."""

    def loss(outputs: dict[str, tf.Tensor], batch: Any) -> tf.Tensor:
        targets = {name.removeprefix(_TARGET): value for name, value in batch.items() if name.startswith(_TARGET)}
        return task_loss(task, outputs, targets, 0.0)[0]

    return loss
