"""What many times come to: median, quartiles, 95th percentile; and ratios of two files that took turns.

The spread is the distance of the quartiles: on a busy machine, a few calls wait for the processor, and a standard
deviation would be about them. Ratios are paired by round, so that what slows one round down slows both files down.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_MS = 1e-6  # of a nanosecond


@dataclass(frozen=True, kw_only=True)
class Times:
    """Milliseconds of `count` calls."""

    count: int
    median_ms: float
    p95_ms: float
    q1_ms: float
    q3_ms: float
    mean_ms: float
    min_ms: float
    max_ms: float

    @property
    def spread_ms(self) -> float:
        """The interquartile range."""
        return self.q3_ms - self.q1_ms


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """Of the time of a file to that of the first: the median over the rounds, with quartiles."""

    median: float
    q1: float
    q3: float


def summarize(nanoseconds: Sequence[float]) -> Times:
    """Percentiles are interpolated between the two nearest values."""
    values = np.asarray(nanoseconds, np.float64) * _MS
    q1, median, q3, p95 = (float(value) for value in np.percentile(values, (25, 50, 75, 95)))
    return Times(
        count=len(values),
        median_ms=median,
        p95_ms=p95,
        q1_ms=q1,
        q3_ms=q3,
        mean_ms=float(values.mean()),
        min_ms=float(values.min()),
        max_ms=float(values.max()),
    )


def medians(rounds: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """The median of each round, in milliseconds."""
    return tuple(float(np.median(calls)) * _MS for calls in rounds)


def paired(times: Sequence[float], base: Sequence[float]) -> Ratio | None:
    """Of the times of each round. None if the clock was too coarse to see the first file."""
    pairs = [own / other for own, other in zip(times, base, strict=True) if other > 0]
    if not pairs:
        return None
    q1, median, q3 = (float(value) for value in np.percentile(pairs, (25, 50, 75)))
    return Ratio(median=median, q1=q1, q3=q3)
