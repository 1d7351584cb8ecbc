"""`RunningShare`: accuracy or micro F1 of rows that come in parts, with its standard error, in constant memory."""

import math

import numpy as np


class RunningShare:
    """The sum of what rows `got` over the sum of what they could have got."""

    def __init__(self) -> None:
        self.rows = 0
        self._sums = np.zeros(5)  # got, possible, got², got·possible, possible²

    def add(self, got: np.ndarray, possible: np.ndarray | None = None) -> None:
        """Some more rows; each can get 1 unless `possible` says otherwise."""
        mine = np.asarray(got, np.float64)
        most = np.ones_like(mine) if possible is None else np.asarray(possible, np.float64)
        self.rows += len(mine)
        self._sums += [mine.sum(), most.sum(), mine @ mine, mine @ most, most @ most]

    @property
    def share(self) -> float:
        got, possible = self._sums[:2]
        return float(got / possible) if possible else 0.0

    @property
    def standard_error(self) -> float:
        """Of a ratio of sums, by linearization; where each row can get 1 it is that of a binomial share."""
        _, possible, got2, both, possible2 = self._sums
        spread = got2 - 2 * self.share * both + self.share**2 * possible2
        return math.sqrt(max(spread, 0.0)) / possible if possible else 0.0
