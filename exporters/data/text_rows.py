"""Rows of projection models: texts with label numbers, and their features, which are computed a chunk at a time."""

import dataclasses
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from exporters.formats.runners import Feed, Outputs
from exporters.formats.tensor_names import FEATURES, LOGITS, TEXT
from exporters.verification.evaluate import accuracy
from models_tf.data import DEFAULT_SEPARATOR, DEFAULT_THRESHOLD, Row, labels_of, read_table
from models_tf.data.held import hold, text_bytes
from models_tf.data.text import clean_text
from models_tf.errors import InputError
from models_tf.tasks import several_labels
from models_tf.tasks.decisions import Decisions
from models_tf.tasks.judged import Judged, of_labels
from models_tf.tasks.rows import GUESSED, Columns, Pick
from models_tf.tasks.score import Score

# Logits of one label in all the files that are compared, of which there are up to a dozen.
_ANSWER_BYTES = 48
# Different fields of labels whose meaning is remembered.
_KNOWN_FIELDS = 10_000

# Texts -> features int8 [rows, time, feature].
Project: TypeAlias = Callable[[Sequence[bytes]], np.ndarray]

_CHUNK_BYTES = 1 << 26
_PROBE_ROWS = 64
_PROBE_WORDS = (
    "play",
    "book",
    "a",
    "table",
    "for",
    "two",
    "in",
    "the",
    "What",
    "is",
    "weather",
    "NASA",
    "é",
    "42",
    "?",
    "日本",
)


@dataclass(frozen=True, kw_only=True)
class TextRows:
    """Texts, and what they should be answered with if that is known. Without `project`, only files that take texts
    or their bytes run.
    """

    keys: list[str]
    targets: np.ndarray | None
    project: Project | None
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    label_threshold: float = DEFAULT_THRESHOLD  # with several labels a row

    @property
    def labelled(self) -> bool:
        return self.targets is not None

    @property
    def rows_each(self) -> int:
        return 1

    @property
    def chooses(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, indices: Sequence[int]) -> "TextRows":
        targets = None if self.targets is None else self.targets[list(indices)]
        numbers = tuple(self.numbers[i] for i in indices) if self.numbers else ()
        return dataclasses.replace(self, keys=[self.keys[i] for i in indices], targets=targets, numbers=numbers)

    def chunks(self, most: int) -> Iterator[Feed]:
        """Texts and their features; long sequences would not fit in memory together."""
        size = most if self.project is None else max(1, min(most, _CHUNK_BYTES // self.project([b""]).nbytes))
        for start in range(0, len(self), size):
            texts = [text.encode() for text in self.keys[start : start + size]]
            yield {TEXT: texts} if self.project is None else {FEATURES: self.project(texts), TEXT: texts}

    def answers(self, outputs: Outputs) -> np.ndarray:
        return outputs[LOGITS]

    def score(self, outputs: Outputs, *, seed: int) -> Score:
        if self.targets is None:
            raise ValueError("Rows without labels cannot be scored.")
        if self.targets.ndim == 1:
            return accuracy(outputs[LOGITS], self.targets)
        return several_labels.score(outputs[LOGITS], self.targets, threshold=self.label_threshold, seed=seed)

    def compared(self, outputs: Outputs, reference: Outputs) -> dict[str, float]:  # noqa: ARG002 - labels say it all
        return {}

    def judge(self, outputs: Outputs) -> Judged:
        """What was answered and what it counts, row by row."""
        if self.targets is None:
            raise ValueError("Rows without labels cannot be judged.")
        logits = outputs[LOGITS]
        if self.targets.ndim == 1:
            predicted = np.where(np.isfinite(logits).all(axis=1), logits.argmax(axis=1), -1)
            return of_labels(predicted, self.targets, self.labels, self.keys)
        return several_labels.judge(logits, self.targets, self.labels, self.keys, threshold=self.label_threshold)

    def decisions(self, outputs: Outputs) -> Decisions | None:
        """Every choice of one label; None with several labels a row."""
        if self.targets is None or self.targets.ndim != 1:
            return None
        return Decisions(labels=self.labels, targets=self.targets, logits=outputs[LOGITS])


@dataclass(frozen=True, kw_only=True)
class TextReader:
    """Reads rows for a model with these labels."""

    labels: Sequence[str]
    multi_label: bool
    project: Project | None
    columns: Columns = GUESSED
    label_separator: str = DEFAULT_SEPARATOR
    label_threshold: float = DEFAULT_THRESHOLD

    def read(self, path: Path) -> TextRows:
        answers = _Answers(path, self.labels, self.label_separator if self.multi_label else None)
        answered = ((clean_text(row.text), answers.of(row)) for row in self._table(path, labelled=True))
        held = hold(answered, lambda row: text_bytes(row[0]) + _ANSWER_BYTES * len(self.labels))
        if not held.rows:
            raise InputError(f"{path} must have rows under its header. Received: none.")
        sampled = len(held.rows) < held.total
        return TextRows(
            keys=[text for text, _ in held.rows],
            targets=answers.table([found for _, found in held.rows]),
            project=self.project,
            labels=tuple(self.labels),
            notes=held.note(path),
            numbers=tuple(place + 1 for place in held.places) if sampled else (),
            label_threshold=self.label_threshold,
        )

    def read_texts(self, path: Path, pick: Pick | None = None) -> TextRows:
        rows = self._table(path, labelled=False)
        texts = hold((clean_text(row.text) for row in rows if row.text.strip()), text_bytes).rows
        if not texts:
            raise InputError(f"{path} must have texts to calibrate with. Received: none, or only empty ones.")
        picked = texts if pick is None else [texts[i] for i in pick(len(texts))]
        return TextRows(keys=picked, targets=None, project=self.project)

    def generate(self, seed: int) -> TextRows:
        generator = random.Random(seed)
        texts = [" ".join(generator.choices(_PROBE_WORDS, k=generator.randint(0, 12))) for _ in range(_PROBE_ROWS)]
        return TextRows(keys=texts, targets=None, project=self.project)

    def _table(self, path: Path, *, labelled: bool) -> Iterator[Row]:
        return read_table(path, self.columns.text, self.columns.label, labelled=labelled)


class _Answers:
    """The numbers of the labels of rows. Every row of a file is looked at, also one that is not kept."""

    def __init__(self, path: Path, labels: Sequence[str], separator: str | None) -> None:
        self._path, self._labels, self._separator = path, labels, separator
        self._number = {label: i for i, label in enumerate(labels)}
        self._fields: dict[str | tuple[str, ...], tuple[int, ...]] = {}
        self._seen: set[int] = set()

    def of(self, row: Row) -> tuple[int, ...]:
        found = self._fields.get(row.label)
        if found is None:
            found = tuple(map(self._numbered(row), labels_of(row, self._path, self._separator)))
            self._seen.update(found)
            if len(self._fields) < _KNOWN_FIELDS:
                self._fields[row.label] = found
        return found

    def table(self, rows: Sequence[tuple[int, ...]]) -> np.ndarray:
        """Label numbers; with a separator, which several labels a row have between them, a table of 0 and 1."""
        if len(self._seen) < 2 and len(self._labels) > 1:
            seen = [self._labels[number] for number in self._seen]
            raise InputError(
                f"{self._path} must have at least 2 different labels to measure accuracy. Received: {seen} only."
            )
        if self._separator is None:
            return np.array([numbers[0] for numbers in rows], np.int64)
        table = np.zeros((len(rows), len(self._labels)), bool)
        for i, numbers in enumerate(rows):
            table[i, list(numbers)] = True
        return table

    def _numbered(self, row: Row) -> Callable[[str], int]:
        def number(name: str) -> int:
            if name not in self._number:
                raise InputError(
                    f"{self._path} line {row.line}: the model has no label {name!r}. It has {_shorten(self._labels)}."
                )
            return self._number[name]

        return number


def _shorten(labels: Sequence[str], limit: int = 10) -> str:
    shown = ", ".join(labels[:limit])
    return shown if len(labels) <= limit else f"{shown} and {len(labels) - limit} more"
