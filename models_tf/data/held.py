"""`hold`: the rows of a file that are kept in memory, all of them or a sample of a larger file.

Each row draws a number, and those with the lowest stay: a sample in which every row has the same chance, drawn in one
pass over a file of any size. It is the same for the same file and the same limits.
"""

import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import Generic, TypeVar

from models_tf import limits

SEED = 0
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class Held(Generic[Item]):
    """Rows in the order of their file, and their places there, from 0. `total` rows were read."""

    rows: list[Item]
    places: list[int]
    total: int

    def note(self, path: Path) -> tuple[str, ...]:
        """For the report; nothing if no row was left out."""
        if len(self.rows) == self.total:
            return ()
        used = f"{len(self.rows):,} of {self.total:,} rows are used, a sample with seed {SEED}"
        return (f"{path}: {used} (the limits rows and held_bytes).",)


def hold(rows: Iterable[Item], size: Callable[[Item], int]) -> Held[Item]:
    """At most `rows` rows whose sizes, in bytes, add up to at most `held_bytes`; at least one."""
    most, most_bytes = limits.value("rows"), limits.value("held_bytes")
    draw = random.Random(SEED).random
    kept: list[tuple[float, int, Item]] = []  # a heap: first the row that goes next
    below, held, place = 1.0, 0, -1
    for place, row in enumerate(rows):
        number = draw()
        if number >= below:
            continue
        heappush(kept, (-number, place, row))
        held += size(row)
        while len(kept) > most or (held > most_bytes and len(kept) > 1):
            number, _, gone = heappop(kept)
            below, held = -number, held - size(gone)
    kept.sort(key=lambda entry: entry[1])
    return Held(rows=[row for _, _, row in kept], places=[place for _, place, _ in kept], total=place + 1)


def text_bytes(*texts: str | None) -> int:
    """What texts take in memory, with the objects around them."""
    return 200 + sum(sys.getsizeof(text) for text in texts if text is not None)
