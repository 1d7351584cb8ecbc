"""The rows that a token model is trained on, with and without labels, and what a teacher says of them."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from models_tf.errors import InputError
from models_tf.tasks import read_rows
from models_tf.tasks.rows import Columns, TaskRows
from models_tf.tasks.tagging import TaggingRows
from models_tf.tasks.untagged import read_untagged
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training.folder import TrainingFolder
from models_tf.training.progress import Progress
from models_tf.training.token_settings import TokenSettings
from models_tf.training.token_teacher import Teaching

if TYPE_CHECKING:
    from models_tf.training.unlabelled import Taught


@dataclass(frozen=True, kw_only=True)
class TrainingRows:
    """`unlabelled` is None where the settings name no such file."""

    train: TaskRows
    dev: TaskRows
    unlabelled: TaggingRows | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.train.notes, *self.dev.notes, *(self.unlabelled.notes if self.unlabelled else ()))


def read_all(settings: TokenSettings, tokenizer: Tokenizer, labels: Sequence[str]) -> TrainingRows:
    train, dev = (_read(path, settings, tokenizer, labels) for path in (settings.train, settings.dev))
    if train.targets is None or not dev.labelled:
        without = train if train.targets is None else dev
        raise InputError(f"--train and --dev must have answers to learn from. Received: {without.source} without.")
    unlabelled = None
    if settings.unlabelled:
        unlabelled = read_untagged(settings.unlabelled, tokenizer=tokenizer, max_len=settings.max_seq_len)
    return TrainingRows(train=train, dev=dev, unlabelled=unlabelled)


def ask_teacher(
    teaching: Teaching, rows: TrainingRows, settings: TokenSettings, *, folder: TrainingFolder, progress: Progress
) -> "tuple[dict[str, np.ndarray] | None, Taught | None]":
    """The teacher's outputs on the labelled rows, unless they have no weight, and its tags of the unlabelled ones."""
    from models_tf.training.token_teacher import teach
    from models_tf.training.unlabelled import at_students_pieces, teach_unlabelled

    teacher, other, order = teaching.teacher, teaching.other, teaching.order
    own = dataclasses.replace(settings, max_seq_len=min(settings.max_seq_len, teacher.config.max_positions))
    soft, taught = None, None
    if rows.unlabelled is not None:
        same = rows.unlabelled
        if other and settings.unlabelled:
            same = read_untagged(settings.unlabelled, tokenizer=other, max_len=own.max_seq_len)
        taught = teach_unlabelled(teacher, rows.unlabelled, same, order, folder=folder, progress=progress)
    if settings.teacher_weight:
        read = _read(settings.train, own, other, rows.train.labels) if other else rows.train
        soft = teach(teacher, read, order, folder=folder, progress=progress)
        if other and isinstance(read, TaggingRows) and isinstance(rows.train, TaggingRows):
            soft = {name: at_students_pieces(read, rows.train, logits) for name, logits in soft.items()}
    return soft, taught


def _read(path: Path, settings: TokenSettings, tokenizer: Tokenizer, labels: Sequence[str]) -> TaskRows:
    columns = Columns(text=settings.text_column, pair=settings.text_pair_column, label=settings.label_column)
    return read_rows(
        settings.task, path, tokenizer=tokenizer, labels=labels, max_len=settings.max_seq_len, columns=columns
    )
