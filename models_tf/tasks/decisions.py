"""`Decisions`: every choice of a label that a model made on labelled rows, with its logits.

`judged.py` says what an answer counts in the score; this is for what a score does not show: which labels are confused,
and whether probabilities can be trusted. A decision is a text, or a word that has a token.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """`targets` [decisions] are the numbers of the right labels; `logits` [decisions, labels]."""

    labels: tuple[str, ...]
    targets: np.ndarray
    logits: np.ndarray

    @property
    def answers(self) -> np.ndarray:
        return chosen(self.logits)

    @property
    def confidence(self) -> np.ndarray:
        """The largest probability of the softmax; 0 where a logit is not a number."""
        finite = np.isfinite(self.logits).all(axis=1)
        safe = np.where(finite[:, None], self.logits, 0.0).astype(np.float64)
        weights = np.exp(safe - safe.max(axis=1, keepdims=True))
        return np.where(finite, weights.max(axis=1) / weights.sum(axis=1), 0.0)


def chosen(logits: np.ndarray) -> np.ndarray:
    """The numbers of the labels; -1 for NaN, which is never right although argmax would name it."""
    return np.where(np.isfinite(logits).all(axis=1), logits.argmax(axis=1), -1)


def label_names(labels: Sequence[str], count: int) -> tuple[str, ...]:
    """As many as there are logits: those without a name have their number."""
    return (*labels, *(str(number) for number in range(len(labels), count)))
