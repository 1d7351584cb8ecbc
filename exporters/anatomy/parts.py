"""The parts of a model file, the same for every format: its constants and its operators, as values.

`formats/<format>/anatomy.py` fills them; `summary.py` counts them. Leaves out the values of the constants: what is kept
of them is a digest.
"""

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from exporters.formats.model_file import Signature

WEIGHTS, SCALES, OTHER = "weights", "scales", "other"
BY_TENSOR, BY_CHANNEL, BY_BLOCK, UNKNOWN = "per tensor", "per channel", "per block", "unknown"
FLOATS = ("float16", "bfloat16", "float32", "float64")
# What weights can be; whole numbers of 32 and 64 bits are indices and biases.
WEIGHT_TYPES = (*FLOATS, "int2", "int4", "uint4", "int8", "uint8", "int16", "float8_e4m3fn", "float8_e5m2")
# How activations are computed where weights are quantized.
STATIC, DYNAMIC, WEIGHTS_ONLY, FLOAT = "static", "dynamic", "weights only", "float"


@dataclass(frozen=True, kw_only=True)
class Scales:
    """How a constant is quantized. `symmetric`: every zero point is in the middle of the type's range."""

    granularity: str
    symmetric: bool
    lowest_zero_point: int = 0
    highest_zero_point: int = 0


@dataclass(frozen=True, kw_only=True)
class Constant:
    """`place`: equal for constants that the file stores once. `digest`: equal for equal bytes of one type.

    `readers` are the operators that read it, by name, and `users` the same by their places in the first graph. `near`
    are names close to it, to tell the layer where its own name does not. `reason`: why weights are float where others
    are quantized, "" where nobody knows. `of_text`: it belongs to the operators that read the bytes of a text.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int
    place: Hashable
    digest: bytes
    role: str = OTHER
    readers: tuple[str, ...] = ()
    users: tuple[int, ...] = ()
    near: tuple[str, ...] = ()
    scales: Scales | None = None
    reason: str = ""
    of_text: bool = False


@dataclass(frozen=True, kw_only=True)
class Operator:
    """`in_float`: computes in float though the file is quantized, for this `reason` ("" where nobody knows)."""

    name: str
    in_float: bool = False
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class GraphParts:
    name: str
    operators: tuple[Operator, ...]


@dataclass(frozen=True, kw_only=True)
class CustomOp:
    """An operator that a plain runtime does not have. `kind`: custom, flex (of TensorFlow), or the ONNX domain."""

    name: str
    kind: str
    count: int
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """`activations`: one of STATIC, DYNAMIC, WEIGHTS_ONLY, FLOAT; `activation_type` of quantized ones. `facts`: what
    the file says about itself.
    """

    signatures: Mapping[str, Signature]
    constants: tuple[Constant, ...]
    graphs: tuple[GraphParts, ...]
    custom: tuple[CustomOp, ...]
    activations: str
    activation_type: str = ""
    metadata_bytes: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)


def digest_of(dtype: str, data: Any) -> bytes:
    """Of bytes, or of anything that holds them."""
    return hashlib.blake2b(data, digest_size=16, key=dtype.encode()).digest()


def is_symmetric(dtype: str, low: int, high: int) -> bool:
    """Unsigned numbers have their middle at half of the range."""
    middle = {"uint8": 128, "uint4": 8, "uint2": 2, "uint16": 1 << 15}.get(dtype, 0)
    return low == high == middle
