"""Interleaved rounds of measurements, and what they say about each part: milliseconds, share, spread.

Other programs on the machine must not distort the result. Rounds are interleaved, and the median of processor time
counts. If a runtime reports kernels in wall-clock time, the shortest time of each kernel counts: on a busy machine most
rounds include waiting for the processor.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

WARM_UP = 3
BLOCKS = 5


@dataclass(frozen=True, kw_only=True)
class PartTime:
    """`share` of all parts over all rounds; `share_low` and `share_high` are the extremes of it and of the same figure
    in each of five blocks of rounds.
    """

    ms: float
    share: float
    share_low: float
    share_high: float


@dataclass(frozen=True, kw_only=True)
class Timing:
    """`whole_ms` is the median of the whole file; `parts_ms` the sum of the parts, for comparison."""

    whole_ms: float
    parts_ms: float
    parts: Mapping[str, PartTime]


def interleaved(runs: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Processor seconds of each run in each round, after a warm-up."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(WARM_UP + rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            if number >= WARM_UP:
                found[name].append(time.process_time() - start)
    return found


def summarize(whole: Sequence[float], parts: Mapping[str, np.ndarray], *, shortest: bool = False) -> Timing:
    """From the seconds of the whole file per round, and of the pieces of each part, [round, piece]. A piece counts with
    its median over the rounds, or with its `shortest` time.
    """
    pick = np.min if shortest else np.median

    def added_up(tables: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.array([float(pick(table, 0).sum()) for table in tables.values()])

    def shares(tables: Mapping[str, np.ndarray]) -> np.ndarray:
        seconds = added_up(tables)
        return seconds / max(float(seconds.sum()), 1e-12)  # a clock may be too coarse for a tiny graph

    blocks = np.array_split(np.arange(len(whole)), min(BLOCKS, len(whole)))
    seconds, all_shares = added_up(parts), shares(parts)
    in_blocks = [shares({name: table[block] for name, table in parts.items()}) for block in blocks]
    spread = np.array([all_shares, *in_blocks])
    found = {
        name: PartTime(
            ms=1000 * float(seconds[index]),
            share=float(all_shares[index]),
            share_low=float(spread[:, index].min()),
            share_high=float(spread[:, index].max()),
        )
        for index, name in enumerate(parts)
    }
    return Timing(whole_ms=1000 * float(np.median(whole)), parts_ms=1000 * float(seconds.sum()), parts=found)
