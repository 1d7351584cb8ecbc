"""Weights in 4 bits: scales for blocks of 32 in a row or for whole rows, chosen for the least error.

Shared by both formats, so that they choose the same weights. Leaves out where the numbers go: `tflite/int4.py`,
`onnx/int4.py`.
"""

import numpy as np

from quantize.arrays import Array
from quantize.errors import RecipeError

# Weights with a scale of their own in ONNX; kernels of both runtimes want rows of whole blocks.
BLOCK = 32
HIGH = 7
# Smaller weights get 8 bits: a classifier of two labels has few bytes to save and nothing behind it that evens out.
MIN_ELEMENTS = 1024
# Below this share of the weights 8 bits cost hardly more bytes, and the name of the recipe would promise too much.
LEAST_SHARE = 0.5
# Shares of the largest weight that the range may end at. Clipping it gives all others smaller steps.
_SHARES = np.linspace(0.5, 1.15, 27)
_LEAST, _LARGE = np.float32(1e-12), np.float32(1e15)


def is_dense_fit(inputs: int, outputs: int) -> bool:
    """Whether a dense layer with these numbers of channels gets 4 bits."""
    return inputs % BLOCK == 0 and inputs * outputs >= MIN_ELEMENTS


def is_table_fit(sizes: tuple[int, ...]) -> bool:
    """Whether a table that rows are looked up in gets 4 bits; a row fills whole bytes."""
    return len(sizes) == 2 and sizes[1] % 2 == 0 and sizes[0] * sizes[1] >= MIN_ELEMENTS


def check_share(narrow: int, total: int) -> None:
    """Refuses a model in which too few of the weights got 4 bits."""
    if narrow < LEAST_SHARE * total:
        raise RecipeError(
            f"Recipe int4 needs a model with half of its weights or more in tables of words and in dense layers that "
            f"read a multiple of {BLOCK} channels. Received: a model with {narrow / max(total, 1):.0%} of them there."
        )


def quantize_blocks(weights: Array) -> tuple[Array, Array]:
    """int8 values from -8 to 7 in the shape of `weights` [row, column], and scales [row, column / 32]."""
    return _quantize(weights, BLOCK, -8)


def quantize_rows(weights: Array) -> tuple[Array, Array]:
    """The same from -7 to 7 with a scale for each row: LiteRT's own kernel, without XNNPACK, takes -8 for 16."""
    integers, scales = _quantize(weights, weights.shape[1], -HIGH)
    return integers, scales[:, 0]


def _quantize(weights: Array, block: int, low: int) -> tuple[Array, Array]:
    rows, columns = weights.shape
    if columns % block:
        raise ValueError(f"Columns must be a multiple of {block}. Received: {columns}.")
    blocks = np.ascontiguousarray(weights, np.float32).reshape(rows, -1, block)
    peaks = np.abs(blocks).max(-1)
    if not np.isfinite(peaks).all():
        raise RecipeError(f"Recipe int4 needs finite weights. Received: {peaks.max()}.")
    # Squares of larger errors would be infinite, and no scale better than another.
    sizes = np.where(peaks > _LARGE, peaks, np.float32(1))
    blocks, peaks = blocks / sizes[..., None], peaks / sizes
    found = np.zeros(blocks.shape, np.int8)
    scales, errors = np.ones(peaks.shape, np.float32), np.full(peaks.shape, np.inf, np.float32)
    for share in _SHARES:
        tried = np.maximum(peaks * np.float32(share / HIGH), _LEAST)
        steps = np.clip(np.rint(blocks / tried[..., None]), low, HIGH)
        error = np.square(steps * tried[..., None] - blocks).sum(-1)
        better = error < errors
        found[better], scales[better], errors[better] = steps[better].astype(np.int8), tried[better], error[better]
    return found.reshape(rows, columns), scales * sizes


def pack(integers: Array) -> Array:
    """Two numbers in a byte, the first in the low half; the last byte of an odd count holds one."""
    flat = integers.reshape(-1).astype(np.uint8) & 15
    flat = np.append(flat, np.uint8(0)) if flat.size % 2 else flat
    return flat[0::2] | (flat[1::2] << 4)
