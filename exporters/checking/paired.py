"""Two models on the same rows: how much worse is one, and is that more than chance?

Rows that are simply right or wrong: McNemar's exact test says whether there is a difference, Tango's score interval how
large it may be. Both look only at rows on which the models disagree. F1 and correlations have no such law: their rows
are resampled. Pure functions on arrays; drops are in points, positive when the new model is worse.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models_tf.tasks.metrics import Z

CONFIDENCE = 0.95
RESAMPLES = 2000
# 100 * (1 - 278/280) and 100 * 2/280 differ in the last bits.
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Drop:
    """What was lost, in points, with its 95 % interval; `p` is the chance of such a difference between equal models.

    `worse` and `better` count the rows that only one of the two gets right; None for a metric without such rows.
    """

    points: float
    low: float
    high: float
    p: float
    n: int
    limit: float
    method: str
    worse: int | None = None
    better: int | None = None

    @property
    def is_more(self) -> bool:
        """Whether more than the limit was lost on these very rows, chance or not."""
        return self.points > self.limit + ROUNDING

    @property
    def is_real(self) -> bool:
        """Whether more than the limit was lost, beyond chance."""
        return self.is_more and self.low > self.limit and self.p < 1 - CONFIDENCE

    @property
    def needed_rows(self) -> int | None:
        """How many such rows would show a drop of the limit; None if these do, or if no number would."""
        half = (self.high - self.low) / 2
        if self.limit <= 0 or half <= self.limit:
            return None
        return math.ceil(self.n * (half / self.limit) ** 2)


def exact(before: np.ndarray, after: np.ndarray, *, limit: float = 0.0) -> Drop:
    """`before` and `after` say for each row whether it is right."""
    n = len(before)
    worse, better = int((before & ~after).sum()), int((~before & after).sum())
    low, high = score_interval(worse, better, n)
    return Drop(
        points=100 * (worse - better) / n,
        low=100 * low,
        high=100 * high,
        p=mcnemar(worse, better),
        n=n,
        limit=limit,
        method="exact McNemar test",
        worse=worse,
        better=better,
    )


def resampled(
    before: np.ndarray,
    after: np.ndarray,
    statistic: Callable[[np.ndarray], float],
    *,
    limit: float = 0.0,
    seed: int = 0,
) -> Drop:
    """`before` and `after` are the counts of each row, from which `statistic` computes the score of some rows."""
    n = len(before)
    generator = np.random.default_rng(seed)
    picks = (generator.integers(0, n, n) for _ in range(RESAMPLES))
    drops = np.array([statistic(before[pick]) - statistic(after[pick]) for pick in picks])
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = (float(value) for value in np.percentile(drops, [tail, 100 - tail]))
    fewer = min(int((drops <= 0).sum()), int((drops >= 0).sum()))
    return Drop(
        points=statistic(before) - statistic(after),
        low=low,
        high=high,
        p=min(1.0, 2 * (1 + fewer) / (1 + RESAMPLES)),  # plus one: resampling cannot show that something never happens
        n=n,
        limit=limit,
        method=f"bootstrap of {RESAMPLES} resamples",
    )


def mcnemar(worse: int, better: int) -> float:
    """The chance of a split at least as uneven if both models were equally good: a binomial test, two-sided."""
    return min(1.0, 2 * _half_tail(min(worse, better), worse + better))


def score_interval(worse: int, better: int, n: int) -> tuple[float, float]:
    """95 % interval of the drop as a share (Tango 1998): the drops that the score test does not reject.

    Also right where no row differs: then up to 3.84 / (n + 3.84) may have been lost unseen.
    """
    seen = (worse - better) / n
    return (
        _solve(lambda drop: _score(drop, worse, better, n) - Z, -1.0, seen),
        _solve(lambda drop: _score(drop, worse, better, n) + Z, seen, 1.0),
    )


def _score(drop: float, worse: int, better: int, n: int) -> float:
    """How many standard errors the rows are above a true `drop`; falls as `drop` grows."""
    # The likeliest share of rows won, if the shares lost and won differ by `drop`.
    b = -worse - better + (2 * n - worse + better) * drop
    won = (math.sqrt(b * b + 8 * n * better * drop * (1 - drop)) - b) / (4 * n)
    variance = n * (2 * won + drop * (1 - drop))
    distance = worse - better - n * drop
    return distance / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, distance) if distance else 0.0


def _half_tail(hits: int, n: int) -> float:
    """P(X <= hits) of a fair binomial. Summed in logarithms: n may be thousands."""
    if hits >= n:
        return 1.0
    logs = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2) for k in range(hits + 1)]
    return min(1.0, float(np.exp(logs).sum()))


def _solve(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function crosses zero, by halving."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2
