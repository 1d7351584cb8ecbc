"""The rows that a token model is trained on, with and without labels, and a teacher's outputs on them."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models_tf.data.held import hold, text_bytes
from models_tf.data.tag_scheme import TagScheme
from models_tf.data.unlabelled import read_sentences
from models_tf.errors import InputError
from models_tf.tasks import REGRESSION, TOKEN_CLASSIFICATION, read_rows, stream_file
from models_tf.tasks.classification import LabelNames, Numbers
from models_tf.tasks.multi_label import Several
from models_tf.tasks.rows import Columns, TaskRows, row_bytes
from models_tf.tasks.tagging import TaggingRows
from models_tf.tasks.untagged import encode_untagged
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training.folder import TrainingFolder
from models_tf.training.progress import Progress
from models_tf.training.token_settings import TokenSettings
from models_tf.training.token_teacher import Teaching
from models_tf.training.windows import WindowedFile, WindowedRows, hold_or_window

if TYPE_CHECKING:
    from models_tf.training.unlabelled import Taught


@dataclass(frozen=True, kw_only=True)
class TrainingFiles:
    """The files of a training. What is too large to hold: `train` is read in windows, of the others a sample is taken.

    `train` and `dev` are None if making their rows takes a tokenizer, `unlabelled` if the settings name no such file.
    `train_labels` and `dev_labels` are those of all rows.
    """

    train: list[Any] | WindowedFile | None
    dev: list[Any] | None
    train_labels: Any
    dev_labels: Any
    unlabelled: list[list[str]] | None = None
    sampled: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()

    def by_path(self, settings: TokenSettings) -> dict[Path, Any]:
        """The rows of files that are held as a whole, by file."""
        pairs = ((settings.train, self.train), (settings.dev, self.dev), (settings.unlabelled, self.unlabelled))
        return {path: rows for path, rows in pairs if isinstance(rows, list) and path not in self.sampled and path}


@dataclass(frozen=True, kw_only=True)
class TrainingRows:
    """The rows of the `files` for the student. `unlabelled` is None if the settings name no such file.

    If the training file is too large to hold, `windowed` has its rows and `train` are some of them.
    """

    files: TrainingFiles
    train: TaskRows
    dev: TaskRows
    unlabelled: TaggingRows | None = None
    windowed: WindowedRows | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        own = (*self.train.notes, *self.dev.notes, *(self.unlabelled.notes if self.unlabelled else ()))
        return (*self.files.notes, *own)


def read_files(settings: TokenSettings) -> TrainingFiles:
    def size(row: Any) -> int:
        return int(row.held_bytes()) + row_bytes(settings.task, 0, settings.max_seq_len)

    train_labels, dev_labels = (_watcher(settings, path) for path in (settings.train, settings.dev))
    dev_rows, train = _stream(settings, settings.dev), None
    held = None if dev_rows is None else hold(dev_labels.watch(dev_rows), size)
    notes = held.note(settings.dev) if held else ()
    sampled: tuple[Path, ...] = (settings.dev,) if notes else ()
    if _stream(settings, settings.train) is not None:
        train = hold_or_window(
            settings.train, lambda: iter(_stream(settings, settings.train) or ()), size=size, watch=train_labels.watch
        )
        notes += (train.note(),) if isinstance(train, WindowedFile) else ()
    unlabelled = None
    if settings.unlabelled:
        others = hold(read_sentences(settings.unlabelled), lambda words: text_bytes(*words) + 16 * settings.max_seq_len)
        unlabelled, notes = others.rows, (*notes, *others.note(settings.unlabelled))
        sampled += (settings.unlabelled,) if others.note(settings.unlabelled) else ()
    return TrainingFiles(
        train=train,
        dev=held.rows if held else None,
        train_labels=train_labels,
        dev_labels=dev_labels,
        unlabelled=unlabelled,
        sampled=sampled,
        notes=notes,
    )


def _stream(settings: TokenSettings, path: Path) -> Iterator[Any] | None:
    return stream_file(settings.task, path, columns=_columns(settings))


def _watcher(settings: TokenSettings, path: Path) -> Any:
    """Looks at the labels of a file as its rows pass."""
    if settings.task == TOKEN_CLASSIFICATION:
        return TagScheme(path)
    if several := _several(settings):
        return several.watcher(path)
    return Numbers(path) if settings.task == REGRESSION else LabelNames(path)


def _several(settings: TokenSettings) -> Several | None:
    return Several(separator=settings.label_separator) if settings.multi_label else None


def encode_all(
    files: TrainingFiles, settings: TokenSettings, tokenizer: Tokenizer, labels: Sequence[str]
) -> TrainingRows:
    """The rows as the student reads them."""

    def encode(parsed: Any) -> TaskRows:
        return _encode(parsed, settings.train, settings, tokenizer=tokenizer, labels=labels, seen=files.train_labels)

    windowed, some = None, files.train
    if isinstance(files.train, WindowedFile):
        windowed, some = WindowedRows(file=files.train, encode=encode), files.train.sample()
    train = encode(some)
    dev = _encode(files.dev, settings.dev, settings, tokenizer=tokenizer, labels=labels, seen=files.dev_labels)
    if train.targets is None or not dev.labelled:
        without = train if train.targets is None else dev
        raise InputError(f"--train and --dev must have answers to learn from. Received: {without.source} without.")
    unlabelled = None
    if files.unlabelled is not None and settings.unlabelled:
        unlabelled = encode_untagged(
            files.unlabelled, settings.unlabelled, tokenizer=tokenizer, max_len=settings.max_seq_len
        )
    return TrainingRows(files=files, train=train, dev=dev, unlabelled=unlabelled, windowed=windowed)


def ask_teacher(
    teaching: Teaching, rows: TrainingRows, settings: TokenSettings, *, folder: TrainingFolder, progress: Progress
) -> "tuple[dict[str, Any] | None, Taught | None]":
    """The teacher's outputs on the labelled rows, unless their weight is 0, and its tags for the unlabelled ones."""
    from models_tf.training.token_teacher import teach, teach_windows
    from models_tf.training.unlabelled import at_students_pieces, teach_unlabelled

    teacher, other, order = teaching.teacher, teaching.other, teaching.order
    own = dataclasses.replace(settings, max_seq_len=min(settings.max_seq_len, teacher.config.max_positions))
    soft: dict[str, Any] | None = None
    taught = None
    if rows.unlabelled is not None:
        same = rows.unlabelled
        if other and rows.files.unlabelled and settings.unlabelled:
            sentences = rows.files.unlabelled
            same = encode_untagged(sentences, settings.unlabelled, tokenizer=other, max_len=own.max_seq_len)
        taught = teach_unlabelled(teacher, rows.unlabelled, same, order, folder=folder, progress=progress)
    if settings.teacher_weight:

        def read(parsed: Any, student: TaskRows) -> TaskRows:
            labels, seen = rows.train.labels, rows.files.train_labels
            return _encode(parsed, settings.train, own, tokenizer=other, labels=labels, seen=seen) if other else student

        def learned(student: TaskRows, theirs: TaskRows, logits: np.ndarray) -> np.ndarray:
            if other and isinstance(theirs, TaggingRows) and isinstance(student, TaggingRows):
                return at_students_pieces(theirs, student, logits)
            return logits

        if rows.windowed:
            soft = teach_windows(teaching, rows.windowed, read, learned, folder=folder, progress=progress)
        else:
            theirs = read(rows.files.train, rows.train)
            found = teach(teacher, theirs, order, folder=folder, progress=progress)
            soft = {name: learned(rows.train, theirs, logits) for name, logits in found.items()}
    return soft, taught


def _columns(settings: TokenSettings) -> Columns:
    return Columns(text=settings.text_column, pair=settings.text_pair_column, label=settings.label_column)


def _encode(
    parsed: Any,
    path: Path,
    settings: TokenSettings,
    *,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    seen: Any,
) -> TaskRows:
    return read_rows(
        settings.task,
        path,
        tokenizer=tokenizer,
        labels=labels,
        max_len=settings.max_seq_len,
        columns=_columns(settings),
        parsed=parsed,
        seen=seen,
        several=_several(settings),
    )
