"""Factors for the channels that dense layers read and make, so that one 8-bit scale serves all channels of a tensor.

An encoder with layer norms has a few channels with values a hundred times those of the others, and one scale for all of
them leaves the others a handful of steps. In float a factor for each channel can be moved through a dense layer without
changing what it computes: the weights take up what the input is divided by (SmoothQuant), and are divided by what the result
is multiplied with. Layers that share weights share the factors too. The formats place the factors (`passes/level_dense.py`, `passes/level_dense_onnx.py`); the numbers come
from here.
"""

from collections.abc import Sequence

import numpy as np

# Strength of the factors of inputs: 1 gives all channels the same range, 0 gives it to the weights that read them.
# Error of the int8 logits of MiniLM-L6 on 700 held-out rows of SST-2 (.tflite) with 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1: 0.40, 0.16,
# 0.13, 0.13, 0.14, 0.13, 0.18.
STRENGTH = 0.85
# A channel that hardly moved in calibration may move more later, and must not blow up the weights that read it.
MAX_FACTOR = 32.0


def input_factors(uses: Sequence[np.ndarray], peaks: np.ndarray) -> np.ndarray:
    """What to divide each channel of an input by; `uses` are its ranges, [2, channel], one for each layer that uses the
    weights behind it.

    `peaks`: the largest absolute weight that reads each channel.
    """
    return _bounded(_joint_width(uses) ** STRENGTH / _positive(peaks) ** (1 - STRENGTH))


def output_factors(uses: Sequence[np.ndarray]) -> np.ndarray:
    """What to divide each channel of a result by. The weights have a scale for each of them, so this costs them nothing."""
    return _bounded(_joint_width(uses))


def divided_range(channels: np.ndarray, factors: np.ndarray) -> tuple[float, float]:
    """Smallest and largest value of all channels, each divided by its factor."""
    low, high = channels.astype(np.float64)
    return float((low / factors).min()), float((high / factors).max())


def _joint_width(uses: Sequence[np.ndarray]) -> np.ndarray:
    """Of each channel in all uses. Each use has a scale of its own, so only what its channels are to each other counts."""
    widths = [_width(channels) for channels in uses]
    return widths[0] if len(widths) == 1 else np.max([width / np.median(width) for width in widths], axis=0)


def _width(channels: np.ndarray) -> np.ndarray:
    """Of each channel; a quantized tensor always holds zero."""
    low, high = channels.astype(np.float64)
    return _positive(np.maximum(high, 0.0) - np.minimum(low, 0.0))


def _positive(sizes: np.ndarray) -> np.ndarray:
    """Channels that are dead, or almost, count as a millionth of the widest."""
    return np.maximum(sizes, 1e-6 * sizes.max()) if sizes.max() > 0 else np.ones_like(sizes)


def _bounded(factors: np.ndarray) -> np.ndarray:
    """Around 1, so that the new tensor is about as wide as the old one."""
    return np.clip(factors / np.median(factors), 1 / MAX_FACTOR, MAX_FACTOR)
