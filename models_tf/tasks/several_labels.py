"""Several labels per text, or none: which a model chooses at a threshold, and their F1. Both kinds of models use this.

A label is chosen if its probability, the sigmoid of its logit, is at least the threshold, as the code for devices does.
Pure functions on arrays: `logits` and `targets` (0 or 1) are [rows, labels].
"""

import math
from collections.abc import Sequence

import numpy as np

from models_tf.errors import InputError
from models_tf.tasks import metrics
from models_tf.tasks.judged import Judged, f1
from models_tf.tasks.score import Score

METRIC = "micro_f1"
NONE = "-"
NOT_A_NUMBER = "not a number"


def chosen(logits: np.ndarray, threshold: float) -> np.ndarray:
    """The labels of each row, bool [rows, labels]; none where a logit is not a number."""
    return np.asarray(np.asarray(logits, np.float64) >= math.log(threshold / (1.0 - threshold)))


def score(logits: np.ndarray, targets: np.ndarray, *, threshold: float, seed: int = 0) -> Score:
    """F1 over all labels together (micro); more: the mean F1 of the labels that occur or are chosen (macro)."""
    wanted, found = _both(logits, targets, threshold)
    counts = _counts(found, wanted)

    def micro(rows: np.ndarray) -> float:
        return f1(counts[rows])

    right = (found == wanted).all(axis=1) & np.isfinite(logits).all(axis=1)
    return Score(
        metric=METRIC,
        value=f1(counts),
        n=len(counts),
        standard_error=metrics.resampled_error(micro, len(counts), seed),
        interval=metrics.resampled_interval(micro, len(counts), seed),
        exact_match=100 * float(right.mean()),
        more={"macro_f1": macro_f1(found, wanted)},
        label_threshold=threshold,
    )


def f1_parts(logits: np.ndarray, targets: np.ndarray, *, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """What each row adds to both sides of micro F1: twice the labels that are right, and those chosen or wanted."""
    wanted, found = _both(logits, targets, threshold)
    return 2 * (found & wanted).sum(axis=1), found.sum(axis=1) + wanted.sum(axis=1)


def macro_f1(found: np.ndarray, wanted: np.ndarray) -> float:
    """Mean F1 of the labels that occur or are chosen; 0 if there is none."""
    hits, sizes = (found & wanted).sum(axis=0), found.sum(axis=0) + wanted.sum(axis=0)
    seen = sizes > 0
    return 100 * float(np.mean(2 * hits[seen] / sizes[seen])) if seen.any() else 0.0


def judge(
    logits: np.ndarray, targets: np.ndarray, labels: Sequence[str], texts: Sequence[str], *, threshold: float
) -> Judged:
    """What was answered and what it counts, row by row."""
    wanted, found = _both(logits, targets, threshold)
    finite = np.isfinite(logits).all(axis=1)
    return Judged(
        metric=METRIC,
        texts=tuple(texts),
        expected=tuple(_names(row, labels) for row in wanted),
        answers=tuple(_names(row, labels) if known else NOT_A_NUMBER for row, known in zip(found, finite, strict=True)),
        counts=_counts(found, wanted),
    )


def _both(logits: np.ndarray, targets: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """What was wanted and what was chosen."""
    if logits.shape != targets.shape or not len(targets):
        raise InputError(
            f"A model with several labels must answer {targets.shape[1]} numbers for each of {len(targets)} rows, 1 or "
            f"more. Received: answers of shape {tuple(logits.shape)}."
        )
    return np.asarray(targets, bool), chosen(logits, threshold)


def _counts(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """What was right, chosen and wanted in each row."""
    return np.stack([(found & wanted).sum(axis=1), found.sum(axis=1), wanted.sum(axis=1)], axis=1).astype(np.float64)


def _names(row: np.ndarray, labels: Sequence[str]) -> str:
    return ", ".join(labels[number] for number in np.flatnonzero(row)) or NONE
