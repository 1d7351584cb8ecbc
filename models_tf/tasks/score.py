"""`Score`: one measured number with what is needed to judge it. How it is computed is in `models_tf/tasks/`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# No shares of rows: -1 to 1, given times 100.
_CORRELATIONS = ("pearson", "spearman", "matthews", "mean_cosine")


@dataclass(frozen=True, kw_only=True)
class Score:
    """In percent (points); a correlation times 100. `interval` is the 95 % interval of `value`.

    `exact_match` only where a row has several labels or an answer has a text; `more` holds further metrics by name.
    `label_threshold` is the probability from which a label is chosen, where a row has several.
    """

    metric: str
    value: float
    n: int
    standard_error: float
    exact_match: float | None = None
    more: Mapping[str, float] = field(default_factory=dict)
    interval: tuple[float, float] | None = None
    label_threshold: float | None = None


def metric_title(metric: str, label_threshold: float | None = None) -> str:
    if label_threshold is not None:
        return f"{metric} at {label_threshold:g}"
    return f"{metric} x 100" if metric in _CORRELATIONS else metric


def metric_unit(metric: str) -> str:
    """The unit after a number: a correlation is not a percentage."""
    return "" if metric in _CORRELATIONS else " %"
