"""Classification and regression of sentences and of sentence pairs: rows from TSV, CSV or JSON lines, and their scores.

Several labels per row are in `multi_label.py`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from models_tf import limits
from models_tf.data import Row, labels_of, read_table
from models_tf.data.table import LABEL_COLUMNS
from models_tf.data.text import clean_text
from models_tf.errors import InputError
from models_tf.spec import LOGITS
from models_tf.tasks import correlation, metrics
from models_tf.tasks.decisions import Decisions, chosen, label_names
from models_tf.tasks.judged import Judged, of_labels
from models_tf.tasks.rows import Columns, TaskRows, cut_rows, number_labels
from models_tf.tasks.score import Score
from models_tf.tokenizers.tokenizer import Tokenizer

CLASS_COLUMNS = (*LABEL_COLUMNS, "gold_label", "Quality")
SCORE_COLUMNS = ("score", "label", "similarity")


@dataclass(frozen=True, kw_only=True)
class ClassificationRows(TaskRows):
    """Target: the number of the label, int32 [rows]."""

    task: ClassVar[str] = "classification"

    def score(self, outputs: Mapping[str, np.ndarray], *, seed: int = 0) -> Score:  # noqa: ARG002 - the error is exact
        """Accuracy; more: Matthews, and F1 (two labels: of the last one; else the mean over labels, `macro_f1`)."""
        self._check_outputs(outputs, LOGITS)
        targets = self._need_targets()[LOGITS]
        logits = outputs[LOGITS]
        predicted = chosen(logits)
        share = float((predicted == targets).mean())
        table = metrics.confusion(predicted, targets, max(len(self.labels), logits.shape[1]))
        binary = len(table) == 2
        f1 = {"f1": metrics.label_f1(table, 1)} if binary else {"macro_f1": metrics.macro_f1(table)}
        return Score(
            metric="accuracy",
            value=100 * share,
            n=len(targets),
            standard_error=metrics.accuracy_error(share, len(targets)),
            interval=metrics.wilson(int((predicted == targets).sum()), len(targets)),
            more={**f1, "matthews": metrics.matthews(table)},
        )

    def judge(self, outputs: Mapping[str, np.ndarray]) -> Judged:
        self._check_outputs(outputs, LOGITS)
        labels = self.labels or tuple(map(str, range(outputs[LOGITS].shape[1])))
        return of_labels(chosen(outputs[LOGITS]), self._need_targets()[LOGITS], labels, self.keys)

    def decisions(self, outputs: Mapping[str, np.ndarray]) -> Decisions:
        self._check_outputs(outputs, LOGITS)
        logits = outputs[LOGITS]
        return Decisions(
            labels=label_names(self.labels, logits.shape[1]), targets=self._need_targets()[LOGITS], logits=logits
        )

    def answers(self, outputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Logits [rows, labels]."""
        self._check_outputs(outputs, LOGITS)
        return outputs[LOGITS]


@dataclass(frozen=True, kw_only=True)
class RegressionRows(TaskRows):
    """Target: the score, float32 [rows]. The model's one logit is its score."""

    task: ClassVar[str] = "regression"

    def score(self, outputs: Mapping[str, np.ndarray], *, seed: int = 0) -> Score:
        """Pearson's correlation; more: Spearman's. The standard error comes from resampled rows."""
        predicted = self.answers(outputs)[:, 0]
        return correlation.score(predicted, self._need_targets()[LOGITS], metric="pearson", seed=seed)

    def judge(self, outputs: Mapping[str, np.ndarray]) -> Judged:
        predicted = self.answers(outputs)[:, 0]
        return correlation.judge(predicted, self._need_targets()[LOGITS], metric="pearson", texts=self.keys)

    def answers(self, outputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Scores [rows, 1]."""
        self._check_outputs(outputs, LOGITS)
        return outputs[LOGITS].reshape(len(self), 1)


_Rows = TypeVar("_Rows", bound=TaskRows)


class LabelNames:
    """The label of every row of a file with the line where it stands first, also of rows that are not kept."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: dict[str | tuple[str, ...], str] = {}  # by what stands in the file
        self.first: dict[str, int] = {}

    def watch(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            self.of(row)
            yield row

    def of(self, row: Row) -> str:
        name = self._names.get(row.label)
        if name is None:
            name = labels_of(row, self._path, None)[0]
            self._names[row.label] = name
            self.first.setdefault(name, row.line)
            limits.check("labels", len(self._names), str(self._path))
        return name


def read_classification(
    rows: list[Row],
    path: Path,
    *,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    max_len: int,
    labelled: bool,
    seen: LabelNames | None = None,
) -> ClassificationRows:
    """`seen`: the labels of all rows, where `rows` are a sample."""
    targets = None
    notes: tuple[str, ...] = ()
    if labelled:
        seen = seen or LabelNames(path)
        found = [seen.of(row) for row in rows]
        numbers, notes = number_labels(list(seen.first.items()), labels, path)
        if len(set(numbers)) < 2 and len(labels) > 1:
            raise InputError(
                f"{path} must have at least 2 different labels to measure accuracy. Received: {found[0]!r} only."
            )
        numbered = dict(zip(seen.first, numbers, strict=True))
        targets = {LOGITS: np.array([numbered[name] for name in found], np.int32)}
    return encode_texts(ClassificationRows, rows, path, tokenizer, max_len, labels=labels, targets=targets, notes=notes)


class Numbers:
    """Checks the number of every row of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def watch(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            number_of(row, self._path)
            yield row


def read_regression(
    rows: list[Row],
    path: Path,
    *,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    max_len: int,
    labelled: bool,
    seen: Numbers | None = None,  # noqa: ARG001 - as the other readers
) -> RegressionRows:
    targets = {LOGITS: np.array([number_of(row, path) for row in rows], np.float32)} if labelled else None
    return encode_texts(RegressionRows, rows, path, tokenizer, max_len, labels=labels, targets=targets)


def stream(path: Path, columns: Columns, label_guesses: tuple[str, ...], labelled: bool) -> Iterator[Row]:
    """The rows of a table that have text; a labelled row must."""
    rows = read_table(
        path,
        columns.text,
        columns.label,
        labelled=labelled,
        pair_column=columns.pair,
        guess_pairs=True,
        label_guesses=label_guesses,
    )
    read = kept = False
    for row in rows:
        read = True
        if not _is_empty(row):
            kept = True
            yield row
        elif labelled:
            raise InputError(f"{path} line {row.line} must have text. Received: an empty field. Leave the row out.")
    if not read:
        raise InputError(f"{path} must have rows under its header. Received: none.")
    if not kept:
        raise InputError(f"{path} must have texts. Received: only empty ones.")


def _is_empty(row: Row) -> bool:
    return not row.text.strip() or (row.pair is not None and not row.pair.strip())


def encode_texts(
    kind: type[_Rows],
    rows: list[Row],
    path: Path,
    tokenizer: Tokenizer,
    max_len: int,
    *,
    labels: Sequence[str],
    targets: dict[str, np.ndarray] | None,
    notes: tuple[str, ...] = (),
    **own: Any,
) -> _Rows:
    """The texts as inputs of a model, with their targets; fields that only this kind has are `own`."""
    keys = texts = [clean_text(row.text) for row in rows]
    pairs = None if rows[0].pair is None else [clean_text(row.pair or "") for row in rows]
    if pairs is not None:
        keys = [f"{text}\t{pair}" for text, pair in zip(texts, pairs, strict=True)]
    inputs = tokenizer.encode(texts, pairs, max_len=max_len)
    return kind(
        inputs=inputs,
        keys=keys,
        source=str(path),
        labels=tuple(labels),
        targets=targets,
        pairs=pairs is not None,
        notes=(*notes, *cut_rows(inputs, path)),
        **own,
    )


def number_of(row: Row, path: Path) -> float:
    try:
        value = float(row.label) if isinstance(row.label, str) else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{path} line {row.line} must have a number as its score. Received: {row.label!r}.")
    return value
