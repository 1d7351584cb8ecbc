"""The operators of a bytes-in graph in TFLite: builtin ones only, as old as TensorFlow Lite 2.14.

What decides which operator stands for what, measured in LiteRT 2.3: BITCAST and CAST cost next to nothing, while
STRIDED_SLICE and SPLIT along the last axis take 10 ns and more for each element, BITWISE_XOR, RIGHT_SHIFT and GATHER 2
to 4 ns. There is no XOR or shift of 64 bits, no AND, no shift to the left, and GATHER and CUMSUM take no unsigned
numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from exporters.bytes_in.hashing import signed
from quantize.tflite.graph import Graph, Model, new_operator, schema

_TYPES = {
    "bool": schema.TensorType.BOOL,
    "int8": schema.TensorType.INT8,
    "uint8": schema.TensorType.UINT8,
    "int32": schema.TensorType.INT32,
    "uint32": schema.TensorType.UINT32,
    "int64": schema.TensorType.INT64,
}
# The version that has the type we need, if it is not 1 (tensorflow/lite/tools/versioning/op_version.cc).
_VERSIONS = {"CAST": 2, "MUL": 5, "ADD": 4, "FLOOR_MOD": 2}
_HALVES = 2  # of a wide number
Shape = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """An index into the tensors of the graph that is being written."""

    index: int
    shape: Shape
    dtype: str


class TfliteOps:
    """Writes operators into the subgraphs of a new model. `Ops` says what the methods do."""

    def __init__(self) -> None:
        self.model: Model = schema.ModelT()
        self.model.version = 3  # of the schema
        self.model.operatorCodes, self.model.buffers, self.model.subgraphs = [], [schema.BufferT()], []
        self.graph: Graph
        self._constants: dict[tuple[int, str, Shape, bytes], Tensor] = {}
        self._buffers: dict[bytes, int] = {}
        self._forms: dict[tuple[int, int, str], Tensor] = {}  # the same bytes as other types
        self.new_graph()

    def new_graph(self) -> int:
        """Starts a subgraph; its number."""
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.inputs, self.graph.outputs, self.graph.operators = [], [], [], []
        self.model.subgraphs.append(self.graph)
        return len(self.model.subgraphs) - 1

    @contextmanager
    def subgraph(self, *inputs: Tensor) -> Iterator[tuple[int, list[Tensor]]]:
        """What is written inside goes into a new subgraph, which takes the likes of `inputs`."""
        outer = self.graph
        number = self.new_graph()
        own = [self.tensor(one.shape, one.dtype) for one in inputs]
        self.graph.inputs = [one.index for one in own]
        try:
            yield number, own
        finally:
            self.graph = outer

    def returns(self, *values: Tensor) -> None:
        self.graph.outputs = [value.index for value in values]

    def tensor(self, shape: Sequence[int], dtype: str) -> Tensor:
        made = schema.TensorT()
        made.shape, made.type, made.buffer = list(shape), _TYPES[dtype], 0
        self.graph.tensors.append(made)
        return Tensor(index=len(self.graph.tensors) - 1, shape=tuple(shape), dtype=dtype)

    def constant(self, values: np.ndarray) -> Tensor:
        values = np.asarray(values, order="C")
        data = values.tobytes()
        key = (id(self.graph), values.dtype.name, values.shape, data)
        if key not in self._constants:
            found = self.tensor(values.shape, values.dtype.name)
            if data not in self._buffers:
                buffer = schema.BufferT()
                buffer.data = np.frombuffer(data, np.uint8)
                self.model.buffers.append(buffer)
                self._buffers[data] = len(self.model.buffers) - 1
            self.graph.tensors[found.index].buffer = self._buffers[data]
            self._constants[key] = found
        return self._constants[key]

    def write(self, name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], **options: Any) -> Tensor:
        """One operator; its first output. Options are the fields of its table in the schema."""
        operator = new_operator(
            self.model,
            getattr(schema.BuiltinOperator, name),
            _VERSIONS.get(name, 1),
            [one.index for one in inputs],
            [one.index for one in outputs],
        )
        table = options.pop("table", None)
        if table is not None:
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, table)
            operator.builtinOptions = getattr(schema, f"{table}T")()
            for field, value in options.items():
                setattr(operator.builtinOptions, field, value)
        self.graph.operators.append(operator)
        return outputs[0]

    # Steps that the operators below are made of.

    def bitcast(self, a: Tensor, dtype: str) -> Tensor:
        """The same bytes as numbers of another type; a last axis is added or taken away where they differ in size."""
        key = (id(self.graph), a.index, dtype)
        if key not in self._forms:
            ratio = np.dtype(a.dtype).itemsize / np.dtype(dtype).itemsize
            shape = a.shape if ratio == 1 else (*a.shape, int(ratio)) if ratio > 1 else a.shape[:-1]
            made = self.write("BITCAST", [a], [self.tensor(shape, dtype)])
            self._forms[key] = made
            self._forms[id(self.graph), made.index, a.dtype] = a
        return self._forms[key]

    def cast(self, a: Tensor, dtype: str) -> Tensor:
        return self.write("CAST", [a], [self.tensor(a.shape, dtype)], table="CastOptions")

    def reshape(self, a: Tensor, *shape: int) -> Tensor:
        target = self.constant(np.array(shape, np.int32))
        return self.write("RESHAPE", [a, target], [self.tensor(shape, a.dtype)])

    def concat(self, parts: Sequence[Tensor], axis: int = 0) -> Tensor:
        shape = list(parts[0].shape)
        shape[axis] = sum(part.shape[axis] for part in parts)
        result = self.tensor(shape, parts[0].dtype)
        return self.write("CONCATENATION", parts, [result], table="ConcatenationOptions", axis=axis)

    def pack(self, parts: Sequence[Tensor]) -> Tensor:
        """One above the other."""
        result = self.tensor((len(parts), *parts[0].shape), parts[0].dtype)
        return self.write("PACK", parts, [result], table="PackOptions", valuesCount=len(parts), axis=0)

    def filled(self, shape: Shape, value: int, dtype: str = "int32") -> Tensor:
        given = [self.constant(np.array(shape, np.int32)), self.constant(np.array(value, np.int64).astype(dtype))]
        return self.write("FILL", given, [self.tensor(shape, dtype)], table="FillOptions")

    def split(self, a: Tensor, sizes: Sequence[int]) -> list[Tensor]:
        """Along the first axis."""
        made = [self.tensor((size, *a.shape[1:]), a.dtype) for size in sizes]
        given = [a, self.constant(np.array(sizes, np.int32)), self.constant(np.array(0, np.int32))]
        self.write("SPLIT_V", given, made, table="SplitVOptions", numSplits=len(sizes))
        return made

    def gather(self, a: Tensor, index: Tensor, axis: int = 0) -> Tensor:
        shape = (*a.shape[:axis], *index.shape, *a.shape[axis + 1 :])
        return self.write("GATHER", [a, index], [self.tensor(shape, a.dtype)], table="GatherOptions", axis=axis)

    def call(self, number: int, inputs: Sequence[Tensor], *, when: Tensor, otherwise: int) -> list[Tensor]:
        """Runs a subgraph, or another one that makes the like."""
        target = self.model.subgraphs[number]
        kinds = {value: name for name, value in _TYPES.items()}
        made = [self.tensor(target.tensors[i].shape or (), kinds[target.tensors[i].type]) for i in target.outputs]
        self.write(
            "IF",
            [when, *inputs],
            made,
            table="IfOptions",
            thenSubgraphIndex=number,
            elseSubgraphIndex=otherwise,
        )
        return made

    def _pair(self, a: Tensor | int, b: Tensor | int) -> tuple[list[Tensor], Shape]:
        """Both operands as tensors, and the shape of what they make."""
        made = [one if isinstance(one, Tensor) else self.constant(np.array([one], np.int32)) for one in (a, b)]
        return made, np.broadcast_shapes(made[0].shape, made[1].shape)

    def _binary(self, name: str, a: Tensor | int, b: Tensor | int, dtype: str | None = None, **options: Any) -> Tensor:
        operands, shape = self._pair(a, b)
        return self.write(name, operands, [self.tensor(shape, dtype or operands[0].dtype)], **options)

    def drop_unused(self) -> None:
        """Removes operators whose results nothing reads."""
        for graph in self.model.subgraphs:
            needed, kept = set(graph.outputs), []
            for operator in reversed(graph.operators):
                if needed.intersection(operator.outputs):
                    needed.update(operator.inputs)
                    kept.append(operator)
            graph.operators = kept[::-1]

    # Numbers and flags.

    def add(self, a: Tensor, b: Tensor | int) -> Tensor:
        return self._binary("ADD", a, b, table="AddOptions")

    def subtract(self, a: Tensor | int, b: Tensor | int) -> Tensor:
        return self._binary("SUB", a, b, table="SubOptions")

    def multiply(self, a: Tensor, b: Tensor | int) -> Tensor:
        return self._binary("MUL", a, b, table="MulOptions")

    def minimum(self, a: Tensor, b: Tensor | int) -> Tensor:
        return self._binary("MINIMUM", a, b, table="MaximumMinimumOptions")

    def maximum(self, a: Tensor, b: int) -> Tensor:
        return self._binary("MAXIMUM", a, b, table="MaximumMinimumOptions")

    def shift_right(self, a: Tensor, bits: int) -> Tensor:
        return self._binary("RIGHT_SHIFT", a, bits)

    def shift_right_by(self, a: Tensor, bits: np.ndarray, index: Tensor) -> Tensor:
        return self._binary("RIGHT_SHIFT", a, self.lookup(bits, index))

    def remainder(self, a: Tensor, divisor: int) -> Tensor:
        return self._binary("FLOOR_MOD", a, divisor, table="FloorModOptions")

    def running_sum(self, a: Tensor) -> Tensor:
        axis = self.constant(np.array(0, np.int32))
        return self.write("CUMSUM", [a, axis], [self.tensor(a.shape, a.dtype)], table="CumsumOptions")

    def largest(self, a: Tensor) -> Tensor:
        return self._reduce("REDUCE_MAX", a)

    def smallest(self, a: Tensor) -> Tensor:
        return self._reduce("REDUCE_MIN", a)

    def _reduce(self, name: str, a: Tensor) -> Tensor:
        axis = self.constant(np.array([0], np.int32))
        return self.write(name, [a, axis], [self.tensor((1,), a.dtype)], table="ReducerOptions", keepDims=True)

    def equal(self, a: Tensor, b: Tensor | int) -> Tensor:
        return self._binary("EQUAL", a, b, "bool", table="EqualOptions")

    def at_least(self, a: Tensor | int, b: Tensor | int) -> Tensor:
        return self._binary("GREATER_EQUAL", a, b, "bool", table="GreaterEqualOptions")

    def both(self, *flags: Tensor) -> Tensor:
        first, *others = flags
        for other in others:
            first = self._binary("LOGICAL_AND", first, other, table="LogicalAndOptions")
        return first

    def either(self, *flags: Tensor) -> Tensor:
        first, *others = flags
        for other in others:
            first = self._binary("LOGICAL_OR", first, other, table="LogicalOrOptions")
        return first

    def number(self, flag: Tensor) -> Tensor:
        return self.cast(flag, "int32")

    def choose(self, flag: Tensor, yes: Tensor | int, no: Tensor | int) -> Tensor:
        operands, shape = self._pair(yes, no)
        result = self.tensor(np.broadcast_shapes(flag.shape, shape), operands[0].dtype)
        return self.write("SELECT_V2", [flag, *operands], [result], table="SelectV2Options")

    # Vectors.

    def places(self, like: Tensor) -> Tensor:
        first, last, step = (self.constant(np.array(n, np.int32)) for n in (0, like.shape[0], 1))
        return self.write("RANGE", [first, last, step], [self.tensor(like.shape, "int32")], table="RangeOptions")

    def moved(self, a: Tensor, by: int) -> Tensor:
        size, gap = a.shape[0], self.constant(np.zeros(abs(by), np.int32))
        if by > 0:
            return self.split(self.concat([a, gap]), [by, size])[1]
        return self.split(self.concat([gap, a]), [size, -by])[0]

    def joined(self, *vectors: Tensor) -> Tensor:
        return self.concat(vectors)

    def rows(self, a: Tensor, start: int, count: int) -> Tensor:
        rest = a.shape[0] - start - count
        sizes = [size for size in (start, count, rest) if size]
        return self.split(a, sizes)[1 if start else 0] if len(sizes) > 1 else a

    def lookup(self, table: np.ndarray, index: Tensor) -> Tensor:
        found = self.gather(self.constant(table), index)
        return found if table.dtype == np.int32 else self.cast(found, "int32")

    def columns(self, tables: Sequence[np.ndarray], index: Tensor) -> list[Tensor]:
        found = self.gather(self.constant(np.stack(tables, axis=1)), index)
        order = self.constant(np.array([1, 0], np.int32))
        turned = self.tensor(found.shape[::-1], found.dtype)
        self.write("TRANSPOSE", [found, order], [turned], table="TransposeOptions")
        made = [self.tensor(index.shape, "int32") for _ in tables]
        self.write("UNPACK", [self.cast(turned, "int32")], made, table="UnpackOptions", num=len(tables), axis=0)
        return made

    def pick(self, a: Tensor, index: Tensor) -> Tensor:
        return self.gather(a, index)

    def sums(self, a: Tensor, index: Tensor, count: int) -> Tensor:
        size = self.constant(np.array(count, np.int32))
        result = self.tensor((count,), a.dtype)
        return self.write("UNSORTED_SEGMENT_SUM", [a, index, size], [result], table="UnsortedSegmentSumOptions")

    def packed(self, kept: Tensor, *vectors: Tensor) -> list[Tensor]:
        counted = self.number(kept)
        place = self.multiply(self.running_sum(counted), counted)
        return [self.sums(vector, place, vector.shape[0] + 1) for vector in vectors]

    # Wide numbers: int64, or the two uint32 of each along a last axis.

    def wide(self, a: Tensor) -> Tensor:
        return self.cast(a, "int64")

    def wide_add(self, a: Tensor, b: Tensor) -> Tensor:
        return self.add(a, b)

    def wide_multiply(self, a: Tensor, factor: Tensor | int) -> Tensor:
        return self.multiply(a, factor if isinstance(factor, Tensor) else self._wide_constant(factor))

    def _wide_constant(self, value: int) -> Tensor:
        return self.constant(np.array([signed(value)], np.int64))

    def wide_choose(self, flag: Tensor, yes: Tensor, no: Tensor) -> Tensor:
        return self.choose(flag, yes, no)

    def xor(self, a: Tensor, b: Tensor | int) -> Tensor:
        other = b if isinstance(b, Tensor) else self._wide_constant(b)
        result = self._binary("BITWISE_XOR", self.bitcast(a, "int32"), self.bitcast(other, "int32"))
        return self.bitcast(result, "int64")

    def mix(self, a: Tensor) -> Tensor:
        upper = self.gather(self.bitcast(a, "int32"), self.constant(np.array(1, np.int32)), axis=1)
        bits = self.constant(np.array([47 - 32], np.uint32))
        return self.xor(a, self.cast(self._binary("RIGHT_SHIFT", self.bitcast(upper, "uint32"), bits), "int64"))

    def mix_both(self, a: Tensor, b: Tensor) -> list[Tensor]:
        size = a.shape[0]
        return self.split(self.mix(self.concat([a, b])), [size, size])

    def with_low_bits(self, a: Tensor, low: Tensor) -> Tensor:
        found = self._binary("FLOOR_MOD", a, self.constant(np.array([4], np.int64)), table="FloorModOptions")
        return self.add(self.subtract(a, found), self.wide(low))

    def blocks(self, parts: Tensor, start: Tensor, count: int) -> Tensor:
        half = self.shift_right(start, 2)
        place = self.subtract(start, self.multiply(half, 4))
        weights = self.gather(self.constant(np.array([1, 1 << 8, 1 << 16, 1 << 24], np.int64)), place)
        size = parts.shape[0]
        wide = self.wide_multiply(self.cast(self.bitcast(parts, "uint32"), "int64"), weights)
        pieces = self.reshape(self.bitcast(wide, "int32"), _HALVES * size)
        target = self.add(self.reshape(half, size, 1), self.constant(np.array([[0, 1]], np.int32)))
        halves = self.sums(pieces, self.reshape(target, _HALVES * size), _HALVES * count)
        return self.bitcast(self.reshape(halves, count, _HALVES), "int64")

    def repeat(
        self,
        rounds: Tensor,
        state: Sequence[Tensor],
        fixed: Sequence[Tensor],
        body: Callable[[Tensor, Sequence[Tensor], Sequence[Tensor]], Sequence[Tensor]],
    ) -> list[Tensor]:
        number = self.constant(np.array([0], np.int32))
        carried = [number, rounds, *state, *fixed]
        with self.subgraph(*carried) as (condition, (now, last, *_)):
            self.returns(self._binary("LESS", now, last, "bool", table="LessOptions"))
        with self.subgraph(*carried) as (inner, (now, last, *rest)):
            done = body(now, rest[: len(state)], rest[len(state) :])
            self.returns(self.add(now, 1), last, *done, *rest[len(state) :])
        made = [self.tensor(one.shape, one.dtype) for one in carried]
        options = {"condSubgraphIndex": condition, "bodySubgraphIndex": inner}
        self.write("WHILE", carried, made, table="WhileOptions", **options)
        return made[2 : 2 + len(state)]
