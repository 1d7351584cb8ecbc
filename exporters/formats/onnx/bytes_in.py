"""A bytes-in graph in ONNX: uint8 text of any length in, int8 features out, from the codes of `exporters/bytes_in`.

A feature is the difference of two bits of a code. Eight of them stand in the eight bytes of a wide number, as
differences that borrow from the next byte, so that they can be added up all at once.
"""

import numpy as np
import onnx

from exporters.bytes_in.hashing import next_codes
from exporters.bytes_in.projection import Codes, Rows, rows
from exporters.bytes_in.settings import CODE_FEATURES, BytesIn
from exporters.bytes_in.tables import null_fields
from exporters.formats.onnx.bytes_ops import OPSET, OnnxOps
from exporters.formats.tensor_names import FEATURES, TEXT

_FIELDS = 8  # features in a wide number
_ONES = sum(1 << 8 * place for place in range(_FIELDS))
_BIAS = 0x80 * _ONES
_GAP = 4  # zeros behind the text, where the operators look for bytes that follow
# (distance, mask): pairs of bits that stand together move apart, until each has a byte of its own.
_SPREAD = ((24, 0x000000FF000000FF), (12, 0x000F000F000F000F), (6, 0x0303030303030303))


def bytes_in_model(front: BytesIn) -> onnx.ModelProto:
    """A model: `text` uint8 [1, length] -> `features` int8 [1, tokens, features]."""
    ops = OnnxOps()
    flat = ops.slice(ops.reshape(TEXT, -1), 0, front.max_bytes)
    padded = ops.concat(flat, ops.constant(np.zeros(_GAP, np.uint8)))
    _features(ops, front, rows(ops, ops.cast(padded, onnx.TensorProto.INT32), front))
    make, kinds = onnx.helper.make_tensor_value_info, onnx.TensorProto
    graph = onnx.helper.make_graph(
        ops.nodes,
        "bytes",
        [make(TEXT, kinds.UINT8, [1, "length"])],
        [make(FEATURES, kinds.INT8, [1, front.tokens, front.config.feature_size])],
        ops.initializers,
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=10)


def _features(ops: OnnxOps, front: BytesIn, found: Rows) -> None:
    tokens = front.tokens
    fields = _fields(ops, front, *_entries(ops, found))
    words = _as_int8(ops, front, ops.slice(fields, 1, tokens + 1))
    halves = [words]
    if front.mixed:
        halves.append(_as_int8(ops, front, _sums(ops, front, ops.slice(fields, tokens + 1), found)))
    whole = ops.concat(*halves, axis=1) if front.mixed else words
    shape = ops.integers(1, tokens, front.config.feature_size)
    ops.nodes.append(onnx.helper.make_node("Reshape", [whole, shape], [FEATURES]))


def _entries(ops: OnnxOps, found: Rows) -> list[str]:
    """Emitted, low and high codes of the words and, behind them, of the trigrams."""
    parts: list[Codes] = [found.words, *([found.trigrams] if found.trigrams is not None else [])]
    lists = ([one.emitted for one in parts], [one.low for one in parts], [one.high for one in parts])
    return [ops.concat(*one) if len(one) > 1 else one[0] for one in lists]


def _fields(ops: OnnxOps, front: BytesIn, emitted: str, low: str, high: str) -> str:
    """The features of each entry, eight in a wide number [entries, numbers]."""
    count = -(-front.hashed // CODE_FEATURES)
    codes = [emitted, high]
    while len(codes) < count:
        low, high = next_codes(ops, low, high)
        codes += [low, high]
    stacked = ops.reshape(ops.concat(*codes[:count]), count, -1)
    by_entry = ops.reshape(ops.node("Transpose", stacked, perm=[1, 0]), -1, count, 1)
    parts = ops.node("BitwiseAnd", ops.bits_right(by_entry, ops.unsigned(0, 16, 32, 48)), ops.unsigned(0xFFFF))
    for distance, mask in _SPREAD:
        parts = ops.node("BitwiseAnd", ops.wide_multiply(parts, 1 + (1 << distance)), ops.unsigned(mask))
    ones = ops.unsigned(_ONES)
    plus = ops.node("BitwiseAnd", parts, ones)
    minus = ops.node("BitwiseAnd", ops.bits_right(parts, ops.unsigned(1)), ones)
    return ops.reshape(ops.node("Sub", plus, minus), -1, 4 * count)


def _sums(ops: OnnxOps, front: BytesIn, fields: str, found: Rows) -> str:
    """Sums of trigrams, those of `<null>` for tokens without a character."""
    running = ops.running_sum(ops.cast(fields, onnx.TensorProto.INT64))
    ends, starts = ops.rows(found.last, 1, front.tokens), ops.rows(found.last, 0, front.tokens)
    sums = ops.node("Sub", ops.pick(running, ends), ops.pick(running, starts))
    empty = ops.reshape(ops.cast(ops.rows(found.empty, 1, front.tokens), onnx.TensorProto.INT64), -1, 1)
    null = _null(front)
    return ops.cast(ops.node("Add", sums, ops.node("Mul", empty, ops.constant(null))), onnx.TensorProto.UINT64)


def _null(front: BytesIn) -> np.ndarray:
    numbers = -(-front.hashed // CODE_FEATURES) * (CODE_FEATURES // _FIELDS)
    lower, upper = (null_fields(2 * _FIELDS // 2 * numbers)[place::2].astype(np.int64) for place in (0, 1))
    return (lower + (upper << 32)).reshape(1, -1)


def _as_int8(ops: OnnxOps, front: BytesIn, fields: str) -> str:
    """Eight features in a wide number -> int8 [tokens, features]."""
    bias = ops.unsigned(_BIAS)
    signed = ops.xor(ops.node("Add", fields, bias), bias)
    places = ops.unsigned(*(8 * place for place in range(_FIELDS)))
    numbers = -(-front.hashed // CODE_FEATURES) * (CODE_FEATURES // _FIELDS)
    spread = ops.bits_right(ops.reshape(signed, front.tokens, numbers, 1), places)
    made = ops.reshape(ops.cast(spread, onnx.TensorProto.INT8), front.tokens, _FIELDS * numbers)
    return made if _FIELDS * numbers == front.hashed else ops.slice(made, 0, front.hashed, axis=1)
