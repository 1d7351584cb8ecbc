"""When a dense layer whose result is split becomes one dense layer for each part (`passes/split_dense.py`).

The parts of a split share one scale, that of the widest: a part with a quarter of its range is left with a quarter of
the steps.
"""

from collections.abc import Iterable

# Widest to narrowest part. Below it one fused layer costs less than half a bit and saves two reads of the input.
RATIO = 1.25


def differ(parts: Iterable[tuple[float, float]]) -> bool:
    """Whether the ranges of the parts differ enough; a quantized range always holds zero."""
    widths = [max(high, 0.0) - min(low, 0.0) for low, high in parts]
    return max(widths) > RATIO * min(widths)
