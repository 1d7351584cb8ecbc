"""Ranges of masked attention scores, so that padding gets no weight at all and the other scores keep a small step.

A graph adds a large negative number to the scores of padding before the softmax. With that number in the range, eight
bits leave a coarse step for the scores that matter (-10000: a step of 39). But a score far below the largest one of its
row does not matter to the softmax, so the range may end there: padding is clipped to its lower end, whatever the padded
tokens hold. Each format's `ranges.py` finds the tensors; the numbers come from here.
"""

import math

# All padding of a row together gets at most exp(-6) = 1/403 of the weight, below the 1/256 that eight bits can tell.
PADDING_SHARE = 6.0


def masked_range(calibrated: tuple[float, float], peak: float, keys: int, bias: float) -> tuple[float, float]:
    """Range of masked scores. `peak`: the smallest of all rows' largest scores; `keys`: the number of scores in a row.

    `bias` is what is added to padding. Where calibration saw none, rows with fewer tokens may have smaller peaks: then
    the smallest score of all stands for the peak. The range also serves the scores in front of the mask: what is
    clipped there would be clipped behind it.
    """
    low, high = calibrated
    if keys < 1 or not low <= peak <= high:
        raise ValueError(f"A peak among the scores and at least one key were expected. Received: {peak}, {keys}.")
    saw_padding = low <= bias + high
    return (peak if saw_padding else low) - PADDING_SHARE - math.log(keys), high


def hides_padding(bias: float, scores: tuple[float, float]) -> bool:
    """Whether the number that is added to padding moves every score out of the range."""
    low, high = scores
    return bias <= low - high


class Interval:
    """Smallest and largest value of a tensor that depends on one 0/1 mask alone."""

    def __init__(self, low: float = 0.0, high: float = 1.0) -> None:
        self.low, self.high = min(low, high), max(low, high)

    def after(self, operation: str, constant: float, *, constant_first: bool) -> "Interval":
        """Behind an addition, subtraction or product with a constant."""
        if operation == "add":
            return Interval(self.low + constant, self.high + constant)
        if operation == "mul":
            return Interval(self.low * constant, self.high * constant)
        if operation == "sub":
            sign = -1.0 if constant_first else 1.0
            return Interval(sign * (self.low - constant), sign * (self.high - constant))
        raise ValueError(f"`operation` must be add, sub or mul. Received: {operation!r}.")
