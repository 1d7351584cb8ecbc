"""Factors for the channels that dense layers read and make, so that one 8-bit scale serves all channels of a tensor.

An encoder with layer norms has a few channels with values a hundred times those of the others, and one scale for all of
them leaves the others a handful of steps. In float, a factor for each channel can be moved through a dense layer
without changing what it computes: the weights take up what the input is divided by (SmoothQuant), and are divided by
what the result is multiplied with. Layers that share weights share the factors too. The passes `level_dense` of both
formats place the factors; the numbers come from here.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from quantize.arrays import Array

Layer = TypeVar("Layer")

# Strength of the factors of inputs: 1 gives all channels the same range, 0 gives it to the weights that read them.
# Error of the int8 logits of MiniLM-L6 on 700 held-out rows of SST-2 (.tflite) with 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1:
# 0.40, 0.16, 0.13, 0.13, 0.14, 0.13, 0.18.
STRENGTH = 0.85
# A channel that hardly moved in calibration may move more later, and must not blow up the weights that read it.
MAX_FACTOR = 32.0


def input_factors(uses: Sequence[Array], peaks: Array) -> Array:
    """What to divide each channel of an input by.

    `uses`: the ranges of its channels, [2, channel], one for each layer that uses the weights behind it. `peaks`: the
    largest absolute weight that reads each channel.
    """
    return _bounded(_joint_width(uses) ** STRENGTH / _positive(peaks) ** (1 - STRENGTH))


def pair_factors(divided: Sequence[Array], multiplied: Sequence[Array]) -> Array:
    """What to divide the channels of one factor of a sum of products by, and to multiply the other's with.

    Both then have channels of the same width, relative to each other: an error in either counts alike.
    """
    return _bounded(np.sqrt(_joint_width(divided) / _joint_width(multiplied)))


def output_factors(uses: Sequence[Array]) -> Array:
    """What to divide each channel of a result by. It costs nothing: the weights have a scale for each of them."""
    return _bounded(_joint_width(uses))


def divided_range(channels: Array, factors: Array) -> tuple[float, float]:
    """Smallest and largest value of all channels, each divided by its factor."""
    low, high = channels.astype(np.float64)
    return float((low / factors).min()), float((high / factors).max())


def connected(groups: Iterable[Sequence[Layer]], source: Callable[[Layer], Hashable]) -> Iterator[list[Layer]]:
    """Dense layers that one set of input factors must serve: those that read the same weights, or the same tensor.

    `groups`: layers that read the same weights; `source`: the tensor that a layer reads.
    """
    left = [(list(group), {source(layer) for layer in group}) for group in groups]
    while left:
        found, sources = left.pop(0)
        while more := [group for group in left if group[1] & sources]:
            left = [group for group in left if not group[1] & sources]
            for layers, read in more:
                found += layers
                sources |= read
        yield found


def _joint_width(uses: Sequence[Array]) -> Array:
    """Of each channel in all uses. Each use has its own scale, so only the proportions of its channels count."""
    widths = [_width(channels) for channels in uses]
    return widths[0] if len(widths) == 1 else np.max([width / np.median(width) for width in widths], axis=0)


def _width(channels: Array) -> Array:
    """Of each channel; a quantized tensor always holds zero."""
    low, high = channels.astype(np.float64)
    return _positive(np.maximum(high, 0.0) - np.minimum(low, 0.0))


def _positive(sizes: Array) -> Array:
    """Channels that are dead, or almost, count as a millionth of the widest."""
    return np.maximum(sizes, 1e-6 * sizes.max()) if sizes.max() > 0 else np.ones_like(sizes)


def _bounded(factors: Array) -> Array:
    """Around 1, so that the new tensor is about as wide as the old one."""
    bounded: Array = np.clip(factors / np.median(factors), 1 / MAX_FACTOR, MAX_FACTOR)
    return bounded
