"""A bytes-in graph in ONNX: uint8 text of any length in, int8 features out, from the codes of `exporters/bytes_in`.

A feature is the difference of two bits of a code. Eight of them stand in the eight bytes of a wide number, as
differences that borrow from the next byte, so that they can be added up all at once.
"""

from collections.abc import Sequence

import numpy as np
import onnx

from exporters.bytes_in.hashing import next_codes
from exporters.bytes_in.projection import SHORT_WORD, Codes, Rows, rows
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
    ops = OnnxOps(TEXT)
    flat = ops.slice(ops.node("Reshape", TEXT, ops.hidden(-1)), 0, front.max_bytes)
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
    fields = _fields(ops, front, found.entries(ops))
    words = _as_int8(ops, front, ops.slice(fields, 1, tokens + 1))
    halves = [words]
    if front.mixed:
        halves.append(_sums(ops, front, ops.slice(fields, tokens + 1), found))
    whole = ops.concat(*halves, axis=1) if front.mixed else words
    shape = ops.integers(1, tokens, front.config.feature_size)
    ops.nodes.append(onnx.helper.make_node("Reshape", [whole, shape], [FEATURES]))


def _fields(ops: OnnxOps, front: BytesIn, entries: Codes) -> str:
    """The features of each entry, eight in a wide number [entries, numbers]."""
    count = -(-front.hashed // CODE_FEATURES)
    steps = -(-count // 2) - 1

    def step(_: str, state: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        following = next_codes(ops, *state)
        return following, [ops.concat(*following)]

    codes = ops.concat(entries.emitted, entries.high)
    if steps:
        *_, more = ops.loop(ops.constant(np.array(steps, np.int64)), (entries.low, entries.high), step)
        codes = ops.concat(codes, ops.reshape(more, -1))
    count = 2 * (steps + 1)
    stacked = ops.reshape(codes, count, -1)
    by_entry = ops.reshape(ops.node("Transpose", stacked, perm=[1, 0]), -1, count, 1)
    parts = ops.node("BitwiseAnd", ops.bits_right(by_entry, ops.unsigned(0, 16, 32, 48)), ops.unsigned(0xFFFF))
    for distance, mask in _SPREAD:
        parts = ops.node("BitwiseAnd", ops.wide_multiply(parts, 1 + (1 << distance)), ops.unsigned(mask))
    ones = ops.unsigned(_ONES)
    plus = ops.node("BitwiseAnd", parts, ones)
    minus = ops.node("BitwiseAnd", ops.bits_right(parts, ops.unsigned(1)), ones)
    return ops.reshape(ops.node("Sub", plus, minus), -1, 4 * count)


def _sums(ops: OnnxOps, front: BytesIn, fields: str, found: Rows) -> str:
    """Sums of trigrams, those of `<null>` for tokens without a character, as int8 [tokens, features]."""
    wide, tokens = onnx.TensorProto.INT64, front.tokens
    running = ops.running_sum(ops.cast(fields, wide))
    ends, starts = ops.rows(found.last, 1, tokens), ops.rows(found.last, 0, tokens)
    empty = ops.reshape(ops.cast(ops.rows(found.empty, 1, tokens), wide), -1, 1)
    null = ops.node("Mul", empty, ops.constant(_null(front)))

    def between(first: str, last: str) -> str:
        return ops.node("Sub", ops.pick(running, last), ops.pick(running, first))

    def short() -> str:
        return _as_int8(ops, front, ops.cast(ops.node("Add", between(starts, ends), null), onnx.TensorProto.UINT64))

    def long() -> str:
        """Words of any length: part by part, so that no sum of fields leaves its byte."""

        def numbers(packed: str) -> str:
            spread = _as_int8(ops, front, ops.cast(packed, onnx.TensorProto.UINT64))
            return ops.cast(spread, onnx.TensorProto.INT32)

        def part(_: str, state: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
            start, total = state
            end = ops.minimum(ops.add(start, SHORT_WORD), ends)
            return (end, ops.add(total, numbers(between(start, end)))), ()

        rounds = ops.constant(np.array(-(-front.max_bytes // SHORT_WORD), np.int64))
        total = ops.loop(rounds, (starts, numbers(null)), part, kinds=[onnx.TensorProto.INT32] * 2)[1]
        return ops.cast(ops.maximum(ops.minimum(total, SHORT_WORD), -SHORT_WORD), onnx.TensorProto.INT8)

    if front.max_bytes <= SHORT_WORD:
        return short()
    return ops.branch(ops.at_least(ops.largest(found.counts), SHORT_WORD + 1), long, short, onnx.TensorProto.INT8)


def _null(front: BytesIn) -> np.ndarray:
    lower, upper = (null_fields(_FIELDS * _numbers(front))[place::2].astype(np.int64) for place in (0, 1))
    return (lower + (upper << 32)).reshape(1, -1)


def _numbers(front: BytesIn) -> int:
    """Wide numbers of a half row: codes come in pairs."""
    return -(-front.hashed // (2 * CODE_FEATURES)) * (2 * CODE_FEATURES // _FIELDS)


def _as_int8(ops: OnnxOps, front: BytesIn, fields: str) -> str:
    """Eight features in a wide number -> int8 [tokens, features]."""
    bias = ops.unsigned(_BIAS)
    signed = ops.xor(ops.node("Add", fields, bias), bias)
    places = ops.unsigned(*(8 * place for place in range(_FIELDS)))
    numbers = _numbers(front)
    spread = ops.bits_right(ops.reshape(signed, front.tokens, numbers, 1), places)
    made = ops.reshape(ops.cast(spread, onnx.TensorProto.INT8), front.tokens, _FIELDS * numbers)
    return made if _FIELDS * numbers == front.hashed else ops.slice(made, 0, front.hashed, axis=1)
