"""`Judged`: what a model answered on each row, and what each answer counts in the score.

Two files are compared row by row with these counts; a baseline keeps them. A unit is what the score counts: a text, a
sentence of words, a question (which may have several windows).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from models_tf.tasks import metrics


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One entry per unit. `counts` [units, columns] are the sufficient numbers of the metric, see `STATISTICS`."""

    metric: str
    texts: tuple[str, ...]
    expected: tuple[str, ...]
    answers: tuple[str, ...]
    counts: np.ndarray

    def __post_init__(self) -> None:
        sizes = {len(self.texts), len(self.expected), len(self.answers), len(self.counts)}
        if len(sizes) != 1 or self.counts.ndim != 2:
            raise ValueError(f"Every unit must have a text, an answer and counts. Received: {sorted(sizes)} units.")

    def __len__(self) -> int:
        return len(self.texts)

    def value(self) -> float:
        """The score, in points."""
        return STATISTICS[self.metric](self.counts)

    @property
    def right_or_wrong(self) -> bool:
        """Whether each unit is simply right or wrong, so that an exact test is possible."""
        return self.metric == "accuracy" and bool(np.isin(self.counts, (0, 1)).all() and (self.counts[:, 1] == 1).all())


def share(counts: np.ndarray) -> float:
    """Columns: what was right, of how many."""
    return 100 * float(counts[:, 0].sum() / max(counts[:, 1].sum(), 1))


def f1(counts: np.ndarray) -> float:
    """Columns: what was right, found and wanted."""
    return metrics.f1_of_counts(counts[:, 0], counts[:, 1], counts[:, 2])


def correlation(counts: np.ndarray) -> float:
    """Columns: what was predicted, and what was wanted."""
    return metrics.pearson(counts[:, 0], counts[:, 1])


def rank_correlation(counts: np.ndarray) -> float:
    """Columns as of `correlation`."""
    return metrics.spearman(counts[:, 0], counts[:, 1])


# Scores of numbers, which are neither right nor wrong.
CORRELATIONS = ("pearson", "spearman")
# Metric -> the score of some units from their counts.
STATISTICS: dict[str, Callable[[np.ndarray], float]] = {
    "accuracy": share,
    "f1": share,
    "micro_f1": f1,
    "entity_f1": f1,
    "pearson": correlation,
    "spearman": rank_correlation,
}


def of_labels(
    predicted: np.ndarray, targets: np.ndarray, labels: Sequence[str], texts: Sequence[str], *, nothing: str = "-"
) -> Judged:
    """One label per text; a prediction of -1 is no answer."""
    return Judged(
        metric="accuracy",
        texts=tuple(texts),
        expected=tuple(labels[number] for number in targets),
        answers=tuple(labels[number] if number >= 0 else nothing for number in predicted),
        counts=np.stack([predicted == targets, np.ones(len(targets))], axis=1).astype(np.float64),
    )
