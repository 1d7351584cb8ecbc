"""How often the logits are right, with one label a row. Values are in percent (points). A pure function on arrays."""

import math

import numpy as np

from models_tf.tasks import metrics
from models_tf.tasks.score import Score

__all__ = ["Score", "accuracy"]


def accuracy(logits: np.ndarray, targets: np.ndarray) -> Score:
    """`targets` are label numbers [rows]."""
    n = len(targets)
    if len(logits) != n or not n:
        raise ValueError(f"Logits and targets must have the same rows, at least 1. Received: {len(logits)}, {n}.")
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
