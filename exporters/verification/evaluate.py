"""How often the logits are right: accuracy for one label a row, micro F1 for several, each with its standard error.

All values are in percent (points). Pure functions on arrays.
"""

import math

import numpy as np

from models_tf.tasks import metrics
from models_tf.tasks.score import Score

__all__ = ["Score", "score"]

_RESAMPLES = 200


def score(logits: np.ndarray, targets: np.ndarray, *, seed: int = 0) -> Score:
    """`targets` are label numbers [rows], or a boolean table [rows, labels] for several labels a row."""
    if len(logits) != len(targets) or not len(targets):
        raise ValueError(
            f"Logits and targets must have the same rows, at least 1. Received: {len(logits)}, {len(targets)}."
        )
    return _accuracy(logits, targets) if targets.ndim == 1 else _micro_f1(logits, targets, seed)


def _accuracy(logits: np.ndarray, targets: np.ndarray) -> Score:
    n = len(targets)
    # NaN is never right, although argmax would name it
    count = int(((logits.argmax(axis=1) == targets) & np.isfinite(logits).all(axis=1)).sum())
    right = count / n
    return Score(
        metric="accuracy",
        value=100 * right,
        n=n,
        standard_error=100 * math.sqrt(right * (1 - right) / n),
        interval=metrics.wilson(count, n),
    )


def _micro_f1(logits: np.ndarray, targets: np.ndarray, seed: int) -> Score:
    predicted = logits > 0  # a sigmoid above one half
    hits = (predicted & targets).sum(axis=1)  # [rows]
    sizes = predicted.sum(axis=1) + targets.sum(axis=1)
    # F1 is a ratio of sums, with no closed form for its error: resample the rows.
    generator = np.random.default_rng(seed)
    picks = [generator.integers(0, len(hits), len(hits)) for _ in range(_RESAMPLES)]
    resampled = [_f1(hits[pick], sizes[pick]) for pick in picks]
    return Score(
        metric="micro_f1",
        value=_f1(hits, sizes),
        n=len(targets),
        standard_error=float(np.std(resampled)),
        interval=metrics.resampled_interval(lambda rows: _f1(hits[rows], sizes[rows]), len(hits), seed),
        exact_match=100 * float((predicted == targets).all(axis=1).mean()),
    )


def _f1(hits: np.ndarray, sizes: np.ndarray) -> float:
    return 100 * float(2 * hits.sum() / max(int(sizes.sum()), 1))
