"""Classification with several labels per text, or none: rows of token models and their scores."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from models_tf import limits
from models_tf.data import DEFAULT_SEPARATOR, DEFAULT_THRESHOLD, Row, labels_of
from models_tf.errors import InputError
from models_tf.spec import LOGITS
from models_tf.tasks import several_labels
from models_tf.tasks.classification import encode_texts
from models_tf.tasks.decisions import label_names
from models_tf.tasks.judged import Judged
from models_tf.tasks.rows import TaskRows, number_labels
from models_tf.tasks.score import Score
from models_tf.tokenizers.tokenizer import Tokenizer

# Different fields of labels whose meaning is remembered.
_KNOWN_FIELDS = 10_000


@dataclass(frozen=True, kw_only=True)
class MultiLabelRows(TaskRows):
    """Target: whether a text has a label, float32 [rows, labels]."""

    task: ClassVar[str] = "classification"
    threshold: float = DEFAULT_THRESHOLD

    def score(self, outputs: Mapping[str, np.ndarray], *, seed: int = 0) -> Score:
        """Micro F1 at the threshold; more: macro F1."""
        self._check_outputs(outputs, LOGITS)
        targets = self._need_targets()[LOGITS]
        return several_labels.score(outputs[LOGITS], targets, threshold=self.threshold, seed=seed)

    def judge(self, outputs: Mapping[str, np.ndarray]) -> Judged:
        self._check_outputs(outputs, LOGITS)
        logits = outputs[LOGITS]
        labels = label_names(self.labels, logits.shape[1])
        targets = self._need_targets()[LOGITS]
        return several_labels.judge(logits, targets, labels, self.keys, threshold=self.threshold)

    def answers(self, outputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Logits [rows, labels]."""
        self._check_outputs(outputs, LOGITS)
        return outputs[LOGITS]


@dataclass(frozen=True, kw_only=True)
class Several:
    """How several labels stand in a field, and from which probability a model's label counts."""

    separator: str = DEFAULT_SEPARATOR
    threshold: float = DEFAULT_THRESHOLD

    def watcher(self, path: Path) -> "LabelSets":
        return LabelSets(path, self.separator)

    def read(self, rows: list[Row], path: Path, **settings: Any) -> MultiLabelRows:
        return _read(rows, path, self, **settings)


class LabelSets:
    """The labels of every row of a file with the line where each stands first, also of rows that are not kept."""

    def __init__(self, path: Path, separator: str) -> None:
        self._path, self._separator = path, separator
        self._sets: dict[str | tuple[str, ...], tuple[str, ...]] = {}  # by what stands in the file
        self.first: dict[str, int] = {}

    def watch(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            self.of(row)
            yield row

    def of(self, row: Row) -> tuple[str, ...]:
        names = self._sets.get(row.label)
        if names is None:
            names = tuple(labels_of(row, self._path, self._separator))
            for name in names:
                self.first.setdefault(name, row.line)
            limits.check("labels", len(self.first), str(self._path))
            if len(self._sets) < _KNOWN_FIELDS:
                self._sets[row.label] = names
        return names


def _read(
    rows: list[Row],
    path: Path,
    several: Several,
    *,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    max_len: int,
    labelled: bool,
    seen: LabelSets | None = None,
) -> MultiLabelRows:
    """`seen`: the labels of all rows, where `rows` are a sample."""
    table = None
    notes: tuple[str, ...] = ()
    if labelled:
        seen = seen or several.watcher(path)
        found = [seen.of(row) for row in rows]
        numbers, notes = number_labels(list(seen.first.items()), labels, path)
        if len(numbers) < min(2, len(labels)):
            received = f"{next(iter(seen.first))!r} only" if seen.first else "none"
            wanted = "at least 2 different labels" if len(labels) > 1 else "a row with the label"
            raise InputError(f"{path} must have {wanted} to measure F1. Received: {received}.")
        numbered = dict(zip(seen.first, numbers, strict=True))
        table = np.zeros((len(rows), len(labels)), np.float32)
        for line, names in zip(table, found, strict=True):
            line[[numbered[name] for name in names]] = 1.0
    return encode_texts(
        MultiLabelRows,
        rows,
        path,
        tokenizer,
        max_len,
        labels=labels,
        targets=None if table is None else {LOGITS: table},
        notes=notes,
        threshold=several.threshold,
    )
