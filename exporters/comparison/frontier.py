"""Which files are not beaten by another one, and which to pick within limits. Pure functions on values."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from exporters.comparison.candidate import Candidate

# Smaller is better in each; the sign of the accuracy is turned.
_MEASURES: tuple[Callable[[Candidate], float | None], ...] = (
    lambda one: one.size_bytes,
    lambda one: None if one.accuracy is None else -one.accuracy.value,
    lambda one: one.latency_ms,
)
SMALLEST, MOST_ACCURATE, FASTEST = "smallest", "most accurate", "fastest"


@dataclass(frozen=True, kw_only=True)
class Limits:
    max_size_bytes: int | None = None
    max_latency_ms: float | None = None
    min_accuracy: float | None = None

    def holds(self, one: Candidate) -> bool:
        """What was not measured is within no limit."""
        return (
            (self.max_size_bytes is None or one.size_bytes <= self.max_size_bytes)
            and (self.max_latency_ms is None or (one.latency_ms is not None and one.latency_ms <= self.max_latency_ms))
            and (self.min_accuracy is None or (one.accuracy is not None and one.accuracy.value >= self.min_accuracy))
        )


def frontier(candidates: Sequence[Candidate]) -> list[int]:
    """Numbers of the candidates that no other one beats: as good in all measures, and better in one.

    A measure that no candidate has is left out; a candidate that lacks one that others have is not judged.
    """
    used = [measure for measure in _MEASURES if any(measure(one) is not None for one in candidates)]
    values = {
        number: [value for measure in used if (value := measure(one)) is not None]
        for number, one in enumerate(candidates)
    }
    judged = {number: found for number, found in values.items() if len(found) == len(used)}
    return [number for number, own in judged.items() if not any(_beats(other, own) for other in judged.values())]


def _beats(other: Sequence[float], own: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(other, own, strict=True)) and list(other) != list(own)


def picks(candidates: Sequence[Candidate], limits: Limits) -> dict[str, int]:
    """Name of the pick -> number of the candidate; ties go to the one that is better otherwise."""
    within = [number for number, one in enumerate(candidates) if limits.holds(one)]
    found = {}
    for name, order in ((SMALLEST, (0, 1, 2)), (MOST_ACCURATE, (1, 0, 2)), (FASTEST, (2, 1, 0))):
        known = [number for number in within if _MEASURES[order[0]](candidates[number]) is not None]
        if known:
            found[name] = min(known, key=lambda number: [_known(candidates[number], place) for place in order])
    return found


def _known(one: Candidate, place: int) -> float:
    value = _MEASURES[place](one)
    return math.inf if value is None else value
