"""`Candidate`: one model file of a report, with what is compared; `Source`: the report it comes from."""

import math
from dataclasses import dataclass

# 95 % of a normal distribution.
_Z = 1.959963984540054


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """In points, with a 95 % interval."""

    metric: str
    value: float
    n: int
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Source:
    """`name` is short and differs between the reports of one comparison; `data` is a hash, or a path where none is."""

    name: str
    path: str
    model: str
    quantize: str
    seq_len: int
    data: str
    data_source: str
    cpu: str
    passed: bool
    trained: bool


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A model file. `accuracy` and `latency_ms` are None where they were not measured."""

    source: Source
    file: str
    target: str
    size_bytes: int
    accuracy: Accuracy | None
    latency_ms: float | None

    @property
    def name(self) -> str:
        return f"{self.source.name}/{self.file}"


def wilson(share: float, n: int) -> tuple[float, float]:
    """The interval of a share of `n` rows. Unlike share ± 2 standard errors, it is not empty at 0 and at 1.

    E. B. Wilson, Journal of the American Statistical Association 22 (1927), page 209.
    """
    squared = _Z * _Z / n
    middle = (share + squared / 2) / (1 + squared)
    half = _Z * math.sqrt(share * (1 - share) / n + squared / (4 * n)) / (1 + squared)
    return max(0.0, middle - half), min(1.0, middle + half)


def interval(metric: str, value: float, n: int, standard_error: float) -> tuple[float, float]:
    """For reports that have none: of shares of rows by Wilson, of other metrics by their standard error."""
    if metric == "accuracy" and 0 <= value <= 100 and n > 0:
        low, high = wilson(value / 100, n)
        return 100 * low, 100 * high
    return value - _Z * standard_error, value + _Z * standard_error
