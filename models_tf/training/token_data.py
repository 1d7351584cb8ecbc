"""The rows that a token model is trained on, with and without labels, and a teacher's outputs on them."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models_tf.data.unlabelled import read_sentences
from models_tf.errors import InputError
from models_tf.tasks import parse_file, read_rows
from models_tf.tasks.rows import Columns, TaskRows
from models_tf.tasks.tagging import TaggingRows
from models_tf.tasks.untagged import encode_untagged
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training.folder import TrainingFolder
from models_tf.training.progress import Progress
from models_tf.training.token_settings import TokenSettings
from models_tf.training.token_teacher import Teaching

if TYPE_CHECKING:
    from models_tf.training.unlabelled import Taught


@dataclass(frozen=True, kw_only=True)
class TrainingFiles:
    """The files of a training, read once.

    `train` and `dev` are None if making their rows takes a tokenizer, `unlabelled` if the settings name no such file.
    """

    train: Any
    dev: Any
    unlabelled: list[list[str]] | None = None

    def by_path(self, settings: TokenSettings) -> dict[Path, Any]:
        """What was read, by file."""
        pairs = ((settings.train, self.train), (settings.dev, self.dev), (settings.unlabelled, self.unlabelled))
        return {path: rows for path, rows in pairs if path is not None and rows is not None}


@dataclass(frozen=True, kw_only=True)
class TrainingRows:
    """The rows of the `files` for the student. `unlabelled` is None if the settings name no such file."""

    files: TrainingFiles
    train: TaskRows
    dev: TaskRows
    unlabelled: TaggingRows | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.train.notes, *self.dev.notes, *(self.unlabelled.notes if self.unlabelled else ()))


def read_files(settings: TokenSettings) -> TrainingFiles:
    train, dev = (
        parse_file(settings.task, path, columns=_columns(settings)) for path in (settings.train, settings.dev)
    )
    unlabelled = list(read_sentences(settings.unlabelled)) if settings.unlabelled else None
    return TrainingFiles(train=train, dev=dev, unlabelled=unlabelled)


def encode_all(
    files: TrainingFiles, settings: TokenSettings, tokenizer: Tokenizer, labels: Sequence[str]
) -> TrainingRows:
    """The rows as the student reads them."""
    train = _encode(files.train, settings.train, settings, tokenizer, labels)
    dev = _encode(files.dev, settings.dev, settings, tokenizer, labels)
    if train.targets is None or not dev.labelled:
        without = train if train.targets is None else dev
        raise InputError(f"--train and --dev must have answers to learn from. Received: {without.source} without.")
    unlabelled = None
    if files.unlabelled is not None and settings.unlabelled:
        unlabelled = encode_untagged(
            files.unlabelled, settings.unlabelled, tokenizer=tokenizer, max_len=settings.max_seq_len
        )
    return TrainingRows(files=files, train=train, dev=dev, unlabelled=unlabelled)


def ask_teacher(
    teaching: Teaching, rows: TrainingRows, settings: TokenSettings, *, folder: TrainingFolder, progress: Progress
) -> "tuple[dict[str, np.ndarray] | None, Taught | None]":
    """The teacher's outputs on the labelled rows, unless their weight is 0, and its tags for the unlabelled ones."""
    from models_tf.training.token_teacher import teach
    from models_tf.training.unlabelled import at_students_pieces, teach_unlabelled

    teacher, other, order = teaching.teacher, teaching.other, teaching.order
    own = dataclasses.replace(settings, max_seq_len=min(settings.max_seq_len, teacher.config.max_positions))
    soft, taught = None, None
    if rows.unlabelled is not None:
        same = rows.unlabelled
        if other and rows.files.unlabelled and settings.unlabelled:
            sentences = rows.files.unlabelled
            same = encode_untagged(sentences, settings.unlabelled, tokenizer=other, max_len=own.max_seq_len)
        taught = teach_unlabelled(teacher, rows.unlabelled, same, order, folder=folder, progress=progress)
    if settings.teacher_weight:
        read = rows.train
        if other:
            read = _encode(rows.files.train, settings.train, own, other, rows.train.labels)
        soft = teach(teacher, read, order, folder=folder, progress=progress)
        if other and isinstance(read, TaggingRows) and isinstance(rows.train, TaggingRows):
            soft = {name: at_students_pieces(read, rows.train, logits) for name, logits in soft.items()}
    return soft, taught


def _columns(settings: TokenSettings) -> Columns:
    return Columns(text=settings.text_column, pair=settings.text_pair_column, label=settings.label_column)


def _encode(parsed: Any, path: Path, settings: TokenSettings, tokenizer: Tokenizer, labels: Sequence[str]) -> TaskRows:
    return read_rows(
        settings.task,
        path,
        tokenizer=tokenizer,
        labels=labels,
        max_len=settings.max_seq_len,
        columns=_columns(settings),
        parsed=parsed,
    )
