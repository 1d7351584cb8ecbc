"""Batches from files of texts: streamed, shuffled in a window, rows of similar length together.

Rows with labels and rows without are mixed evenly: every part of an epoch has its share of both.
"""

import abc
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from models_tf.data import Row, check_label_count, labels_of, read_table
from models_tf.data.texts import read_texts
from models_tf.errors import InputError
from models_tf.ops.projection.library import as_bytes

# The window bounds memory whatever the file's size; a file that fits is shuffled as a whole.
WINDOW_ROWS = 100_000
WINDOW_CHARACTERS = 64_000_000
# Rows are sorted by length inside groups of this many batches: little padding, still random.
GROUP_BATCHES = 50


@dataclass(frozen=True, kw_only=True)
class TextFile(abc.ABC):
    """A file and how its rows are read."""

    path: Path
    text_column: str | None
    _kept: list[Row] | None = field(default=None, init=False, repr=False, compare=False)

    def rows(self) -> Iterator[Row]:
        """Read once, if the window holds them; a larger file is streamed again each time."""
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[Row] = []
        characters, fits = 0, True
        for row in self._read():
            characters += len(row.text)
            fits = fits and len(kept) < WINDOW_ROWS and characters < WINDOW_CHARACTERS
            if fits:
                kept.append(row)
            else:
                kept = []
            yield row
        if fits:
            object.__setattr__(self, "_kept", kept)

    @abc.abstractmethod
    def _read(self) -> Iterator[Row]: ...


@dataclass(frozen=True, kw_only=True)
class LabelledFile(TextFile):
    label_column: str | None
    label_separator: str | None  # None: one label a row

    def _read(self) -> Iterator[Row]:
        return read_table(self.path, self.text_column, self.label_column)

    def labels_of(self, row: Row) -> list[str]:
        return labels_of(row, self.path, self.label_separator)


@dataclass(frozen=True, kw_only=True)
class UnlabelledFile(TextFile):
    def _read(self) -> Iterator[Row]:
        for number, text in enumerate(read_texts(self.path, self.text_column), start=1):
            yield Row(text, "", number)


@dataclass(frozen=True, kw_only=True)
class Examples:
    """What a training learns from and is judged by. Row numbers go on from `train` to `unlabelled`."""

    labels: dict[str, int]
    label_counts: np.ndarray  # rows of train with each label
    train: LabelledFile
    train_rows: int
    dev: LabelledFile
    unlabelled: UnlabelledFile | None = None
    unlabelled_rows: int = 0

    @property
    def rows(self) -> int:
        return self.train_rows + self.unlabelled_rows

    @property
    def origin(self) -> str:
        """Where the rows come from, for messages."""
        return "of --train, then of --unlabelled" if self.unlabelled else "of --train"

    def texts(self) -> Iterator[str]:
        """In the order of the row numbers."""
        files = (self.train, self.unlabelled) if self.unlabelled else (self.train,)
        return (row.text for file in files for row in file.rows())


def open_examples(train: LabelledFile, dev: LabelledFile, unlabelled: UnlabelledFile | None = None) -> Examples:
    """Reads all files once and checks them; what is wrong with dev is said before the long reads of the others."""
    for _ in dev.rows():
        pass
    if unlabelled:
        next(unlabelled.rows())  # a wrong file is often wrong at once
    counts, rows = count_labels(train)
    labels = {label: index for index, label in enumerate(sorted(counts))}
    check_labels(dev, labels)
    label_counts = np.array([counts[label] for label in labels])
    return Examples(
        labels=labels,
        label_counts=label_counts,
        train=train,
        train_rows=rows,
        dev=dev,
        unlabelled=unlabelled,
        unlabelled_rows=sum(1 for _ in unlabelled.rows()) if unlabelled else 0,
    )


def count_labels(file: LabelledFile) -> tuple[Counter[str], int]:
    """Rows of each label, and rows in all."""
    counts: Counter[str] = Counter()
    total = 0
    for row in file.rows():
        counts.update(file.labels_of(row))
        total += 1
    if not total:
        raise InputError(f"{file.path} must have rows. Received: a header only.")
    check_label_count(counts, file.path, several=file.label_separator is not None)
    return counts, total


def check_labels(file: LabelledFile, known: dict[str, int]) -> int:
    """Rows of the file; every label must be known."""
    total = 0
    for row in file.rows():
        for label in file.labels_of(row):
            if label not in known:
                raise InputError(
                    f"{file.path} line {row.line} must have a label of the training file. Received: {label!r}."
                )
        total += 1
    if not total:
        raise InputError(f"{file.path} must have rows. Received: a header only.")
    return total


@dataclass(frozen=True, kw_only=True)
class Batch:
    texts: list[bytes]
    targets: np.ndarray  # label numbers [batch]; multi-label: 0 or 1, [batch, label]; without labels: 0
    rows: list[int]  # 0 is the first row under the header


@dataclass(frozen=True, slots=True)
class _Item:
    text: bytes
    labels: tuple[int, ...]  # a vector with a place for each label would fill the window
    row: int


def batches(
    file: LabelledFile, known: dict[str, int], batch_size: int, generator: np.random.Generator | None
) -> Iterator[Batch]:
    """Batches of an epoch. Without a generator: the file's order."""
    for items in _shuffled(_labelled(file, known), batch_size, generator):
        yield _batch(items, file, known)


def mixed_batches(examples: Examples, batch_size: int, generator: np.random.Generator) -> Iterator[Batch]:
    """Batches of an epoch of all rows, with labels and without."""
    items = _labelled(examples.train, examples.labels)
    if examples.unlabelled:
        items = _evenly(items, examples.train_rows, _unlabelled(examples), examples.unlabelled_rows)
    for batch in _shuffled(items, batch_size, generator):
        yield _batch(batch, examples.train, examples.labels)


def _labelled(file: LabelledFile, known: dict[str, int]) -> Iterator[_Item]:
    for index, row in enumerate(file.rows()):
        yield _Item(as_bytes(row.text), tuple(known[label] for label in file.labels_of(row)), index)


def _unlabelled(examples: Examples) -> Iterator[_Item]:
    rows = examples.unlabelled.rows() if examples.unlabelled else iter(())
    for index, row in enumerate(rows, start=examples.train_rows):
        yield _Item(as_bytes(row.text), (), index)


def _evenly(first: Iterator[_Item], firsts: int, second: Iterator[_Item], seconds: int) -> Iterator[_Item]:
    """Both, each in its order: as many of the first among any neighbours as among all."""
    total = firsts + seconds
    for place in range(total):
        of_first = (place + 1) * firsts // total > place * firsts // total
        item = next(first if of_first else second, None)
        if item is None:
            raise InputError("Data files must stay as they are while they are read. Received: fewer rows than before.")
        yield item


def _shuffled(items: Iterator[_Item], batch_size: int, generator: np.random.Generator | None) -> Iterator[list[_Item]]:
    window: list[_Item] = []
    characters = 0
    for item in items:
        window.append(item)
        characters += len(item.text)
        if len(window) >= WINDOW_ROWS or characters >= WINDOW_CHARACTERS:
            yield from _cut(window, batch_size, generator)
            window, characters = [], 0
    yield from _cut(window, batch_size, generator)


def _cut(window: list[_Item], batch_size: int, generator: np.random.Generator | None) -> Iterator[list[_Item]]:
    lengths = np.array([item.text.count(b" ") for item in window])
    for batch in like_length(lengths, batch_size, generator):
        yield [window[i] for i in batch]


def like_length(lengths: np.ndarray, batch_size: int, generator: np.random.Generator | None) -> Iterator[np.ndarray]:
    """Row numbers of each batch: random, rows of similar length together. Without a generator: in order."""
    rows = np.arange(len(lengths))
    groups = [rows]
    if generator is not None:
        order = generator.permutation(len(rows))
        size = batch_size * GROUP_BATCHES
        groups = [order[start : start + size] for start in range(0, len(order), size)]
    for group in groups:
        starts = np.arange(0, len(group), batch_size)
        if generator is not None:
            group = group[np.argsort(lengths[group], kind="stable")]  # noqa: PLW2901 - the same rows
            generator.shuffle(starts)
        for start in starts:
            yield group[start : start + batch_size]


def _batch(items: list[_Item], file: LabelledFile, known: dict[str, int]) -> Batch:
    if file.label_separator is None:
        targets = np.array([item.labels[0] if item.labels else 0 for item in items], np.int32)
    else:
        targets = np.zeros((len(items), len(known)), np.float32)
        for vector, item in zip(targets, items, strict=True):
            vector[list(item.labels)] = 1.0
    return Batch(texts=[item.text for item in items], targets=targets, rows=[item.row for item in items])
