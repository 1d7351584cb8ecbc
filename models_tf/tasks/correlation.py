"""Scores that are a correlation of numbers with targets: how similar two sentences are, or a regression."""

from collections.abc import Sequence

import numpy as np

from models_tf.tasks import metrics
from models_tf.tasks.judged import Judged
from models_tf.tasks.score import Score

_CORRELATIONS = {"pearson": metrics.pearson, "spearman": metrics.spearman}


def score(numbers: np.ndarray, targets: np.ndarray, *, metric: str, seed: int) -> Score:
    """`metric` is pearson or spearman; more: the other one. Error and interval come from resampled rows."""
    correlation = _CORRELATIONS[metric]

    def of_rows(rows: np.ndarray) -> float:
        return correlation(numbers[rows], targets[rows])

    return Score(
        metric=metric,
        value=correlation(numbers, targets),
        n=len(targets),
        standard_error=metrics.resampled_error(of_rows, len(targets), seed),
        interval=metrics.resampled_interval(of_rows, len(targets), seed),
        more={name: other(numbers, targets) for name, other in _CORRELATIONS.items() if name != metric},
    )


def judge(numbers: np.ndarray, targets: np.ndarray, *, metric: str, texts: Sequence[str]) -> Judged:
    """What was wanted of each row and what came."""
    return Judged(
        metric=metric,
        texts=tuple(texts),
        expected=tuple(f"{value:.4g}" for value in targets),
        answers=tuple(f"{value:.4g}" for value in numbers),
        counts=np.stack([numbers, targets], axis=1).astype(np.float64),
    )
