"""Metrics on arrays, in percent: F1, Matthews, Pearson, Spearman, entity F1, and errors by resampling rows.

Definitions follow scikit-learn, scipy and conlleval (as seqeval's default mode), without needing them.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np

_RESAMPLES = 200
# The ends of an interval are the 25th and the 976th of these.
_INTERVAL_RESAMPLES = 1000
Z = 1.959963984540054  # of a normal distribution, 95 % lie within this many standard deviations
_ENTITY = re.compile(r"[BIES]-.+")


def accuracy_error(share: float, n: int) -> float:
    """Binomial standard error, in points."""
    return 100 * float(np.sqrt(share * (1 - share) / max(n, 1)))


def resampled_error(statistic: Callable[[np.ndarray], float], n: int, seed: int) -> float:
    """Standard deviation of `statistic(row numbers)` over rows drawn with replacement (the bootstrap)."""
    generator = np.random.default_rng(seed)
    return float(np.std([statistic(generator.integers(0, n, n)) for _ in range(_RESAMPLES)]))


def wilson(right: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, in points: it holds near 0 and 100 % too, and for few rows."""
    share, squared = right / n, Z * Z / n
    middle = (share + squared / 2) / (1 + squared)
    half = Z / (1 + squared) * float(np.sqrt(share * (1 - share) / n + squared / (4 * n)))
    # Rounding must not put the share itself outside.
    return 100 * max(0.0, min(middle - half, share)), 100 * min(1.0, max(middle + half, share))


def resampled_interval(statistic: Callable[[np.ndarray], float], n: int, seed: int) -> tuple[float, float]:
    """The 95 % interval of `statistic(row numbers)` over rows drawn with replacement (the percentile bootstrap)."""
    generator = np.random.default_rng(seed)
    found = [statistic(generator.integers(0, n, n)) for _ in range(_INTERVAL_RESAMPLES)]
    low, high = np.percentile(found, (2.5, 97.5))
    return float(low), float(high)


def confusion(predicted: np.ndarray, targets: np.ndarray, labels: int) -> np.ndarray:
    """Counts [target, predicted]; a prediction of -1 is not a label, and has a column of its own at the end."""
    table = np.zeros((labels, labels + 1), np.int64)
    np.add.at(table, (targets, np.where(predicted < 0, labels, predicted)), 1)
    return table


def label_f1(table: np.ndarray, label: int) -> float:
    """F1 of one label; 0 where it neither occurs nor is predicted."""
    size = int(table[label].sum() + table[:, label].sum())
    return 100 * 2 * float(table[label, label]) / max(size, 1)


def macro_f1(table: np.ndarray) -> float:
    """Mean F1 of the labels that occur or are predicted."""
    seen = [label for label in range(len(table)) if table[label].any() or table[:, label].any()]
    return float(np.mean([label_f1(table, label) for label in seen])) if seen else 0.0


def matthews(table: np.ndarray) -> float:
    """Matthews correlation for any number of labels; 0 where one side is constant."""
    true = table.sum(axis=1).astype(float)
    true = np.append(true, 0.0)  # no row has the target "no label"
    predicted = table.sum(axis=0).astype(float)
    n = true.sum()
    covariance = float(np.trace(table[:, :-1])) * n - true @ predicted
    spread = np.sqrt(n * n - predicted @ predicted) * np.sqrt(n * n - true @ true)
    return 0.0 if spread == 0 else 100 * float(np.clip(covariance / spread, -1, 1))


def pearson(a: np.ndarray, b: np.ndarray) -> float:
    """Correlation of values; 0 where one side is constant or not finite, for then nothing is predicted."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return 0.0
    # Constant values: their mean is rounded, so the differences need not be zero.
    if a.min() == a.max() or b.min() == b.max():
        return 0.0
    a, b = a - a.mean(), b - b.mean()
    a, b = a / np.abs(a).max(), b / np.abs(b).max()  # squares of large values must not overflow
    return 100 * float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1, 1))


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Correlation of ranks; equal values share their mean rank."""
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return 0.0
    return pearson(ranks(a), ranks(b))


def ranks(values: np.ndarray) -> np.ndarray:
    """From 1; equal values get the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse.reshape(-1)]


def are_entity_labels(labels: Sequence[str]) -> bool:
    """Whether labels are O and B-x, I-x (E-x, S-x)."""
    return "O" in labels and any(label != "O" for label in labels) and all(map(_is_entity_label, labels))


def _is_entity_label(label: str) -> bool:
    return label == "O" or bool(_ENTITY.fullmatch(label))


def entities(tags: Sequence[str]) -> set[tuple[str, int, int]]:
    """Chunks (type, first word, last word) as conlleval finds them: an I without a B before it begins one too."""
    found = set()
    begin, before, before_type = 0, "O", ""
    for i, tag in enumerate([*tags, "O"]):
        prefix, _, kind = tag.partition("-")
        changed = kind != before_type
        if before != "O" and (before in "ES" or prefix in "BSO" or changed):
            found.add((before_type, begin, i - 1))
        if prefix != "O" and (prefix in "BS" or before in "ESO" or changed):
            begin = i
        before, before_type = prefix, kind
    return found


def f1_of_counts(right: np.ndarray, found: np.ndarray, wanted: np.ndarray) -> float:
    """F1 over all rows together: of what was found and of what was wanted."""
    return 100 * 2 * float(right.sum()) / max(int(found.sum() + wanted.sum()), 1)
