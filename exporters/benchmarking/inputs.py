"""Inputs made up from what a graph says it takes. They need to be legal and the same every time, not meaningful.

The time of a dense graph does not depend on the values. What matters: ids stay inside of every table, masks keep all
tokens, positions count up, texts are texts. Leaves out real rows; accuracy is the business of other commands.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from exporters.formats.model_file import TensorInfo
from exporters.formats.runners import Values
from exporters.formats.texts import as_bytes, takes_bytes
from models_tf.errors import InputError

BATCH, LENGTH = 1, 128
# Below any vocabulary in use, and many enough that a lookup is not always the same row.
HIGHEST_ID = 99
MAX_BYTES = 1 << 30
_BATCH_NAMES = ("batch",)


def size_of(info: TensorInfo, requested: Mapping[str, Sequence[int]], text: str = "") -> tuple[int, ...]:
    """The shape to feed: as requested, else the file's; an open size is 1 for the batch, the bytes of the text where an
    input takes them, and 128 for all else.
    """
    if info.name in requested:
        asked = tuple(requested[info.name])
        if info.shape and len(asked) != len(info.shape):  # a file that names no rank takes any
            raise InputError(
                f"--shape must give {info.name} as many sizes as the file, {as_typed(info.name, info.shape)}. "
                f"Received: {as_typed(info.name, asked)}."
            )
        return asked
    length = max(1, len(text.encode())) if takes_bytes(info) else LENGTH
    return tuple(
        size if isinstance(size, int) and size > 0 else _default(str(size), axis, length)
        for axis, size in enumerate(info.shape)
    )


def as_typed(name: str, shape: Sequence[int | str]) -> str:
    """`ids=1,64`: as --shape takes it."""
    return f"{name}={','.join(map(str, shape))}"


def _default(name: str, axis: int, length: int) -> int:
    is_batch = axis == 0 or any(word in name.lower() for word in _BATCH_NAMES)
    return BATCH if is_batch else length


def make(
    inputs: Sequence[TensorInfo],
    *,
    requested: Mapping[str, Sequence[int]],
    text: str,
    seed: int,
    smallest: bool = False,
) -> dict[str, Values]:
    """One feed. With `smallest` all ids are 1, which every table has that has two rows."""
    shapes = [size_of(info, requested, text) for info in inputs]
    if sum(8 * math.prod(shape) for shape in shapes) > MAX_BYTES:
        raise InputError(f"Inputs must fit in 1 GB. Received: {_shown(inputs, shapes)}. Give smaller sizes by --shape.")
    return {
        info.name: _values(info, shape, text, np.random.default_rng([seed, number]), smallest)
        for number, (info, shape) in enumerate(zip(inputs, shapes, strict=True))
    }


def _values(
    info: TensorInfo, shape: tuple[int, ...], text: str, generator: np.random.Generator, smallest: bool
) -> Values:
    if info.dtype == "string":
        if len(shape) == 1:
            return [text.encode()] * shape[0]
        return np.full(shape, text, object)
    if takes_bytes(info):
        return as_bytes([text.encode()] * shape[0], shape[1])
    if info.dtype not in _MAKERS:
        raise InputError(f"Inputs must be numbers or texts. Received: {info.name} of the type {info.dtype}.")
    made = fixed_value(info.name)
    if made is not None:
        return np.full(shape, made, info.dtype)
    if "position" in info.name.lower() and shape and info.dtype in _IDS:
        return np.broadcast_to(np.arange(shape[-1], dtype=info.dtype), shape).copy()
    if info.dtype in _IDS and smallest:
        return np.ones(shape, info.dtype)
    low, high = _MAKERS[info.dtype]
    if high is None:
        return generator.standard_normal(shape).astype(info.dtype)
    return generator.integers(low, high, shape, dtype=np.int64, endpoint=True).astype(info.dtype)


def fixed_value(name: str) -> int | None:
    """What an input of this name is filled with, or None: a mask keeps everything, a segment is the first."""
    lower = name.lower()
    if "mask" in lower:
        return 1
    if any(word in lower for word in ("segment", "token_type", "type_ids")):
        return 0
    return None


# Type -> lowest and highest value; floats are normal. 8 bits are activations, wider whole numbers are ids.
_IDS = ("int16", "int32", "int64", "uint16", "uint32", "uint64")
_MAKERS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(("float16", "float32", "float64"), (0, None)),
    **dict.fromkeys(_IDS, (1, HIGHEST_ID)),
    "int8": (-128, 127),
    "uint8": (0, 255),
    "bool": (1, 1),
}


def _shown(inputs: Sequence[TensorInfo], shapes: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(f"{info.name} {list(shape)}" for info, shape in zip(inputs, shapes, strict=True))
