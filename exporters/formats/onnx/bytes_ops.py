"""The operators of a bytes-in graph in ONNX: the standard ones of opset 21, vectors of any length.

Wide numbers are uint64. ONNX Runtime shifts unsigned numbers only, has no Where for uint64 and no CumSum for unsigned
numbers, and takes a microsecond or two for each operator, whatever its size.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx

from models_tf.ops.projection.reference import MASK

OPSET = 21
_SHIFT = 47
_INT32, _INT64, _UINT64 = onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.UINT64
_END = np.iinfo(np.int64).max


class OnnxOps:
    """Writes nodes into a graph. A value is the name of a tensor; `Ops` says what the methods do."""

    def __init__(self, text: str) -> None:
        self.input = text
        self._always: str | None = None
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The name of what it makes."""
        return self._node(kind, inputs, 1, attributes)[0]

    def _node(self, kind: str, inputs: Sequence[str], outputs: int, attributes: dict[str, Any]) -> list[str]:
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(onnx.helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def constant(self, values: np.ndarray) -> str:
        key = (values.dtype.name, values.shape, values.tobytes())
        if key not in self._constants:
            self._constants[key] = self.name()
            self.initializers.append(onnx.numpy_helper.from_array(values, self._constants[key]))
        return self._constants[key]

    # Steps that the operators below are made of.

    def cast(self, a: str, kind: int) -> str:
        return self.node("Cast", a, to=kind)

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def reshape(self, a: str, *shape: int) -> str:
        return self.node("Reshape", a, self.integers(*shape))

    def concat(self, *parts: str, axis: int = 0) -> str:
        return self.node("Concat", *parts, axis=axis)

    def slice(self, a: str, start: int, end: int = _END, axis: int = 0) -> str:
        return self.node("Slice", a, self.integers(start), self.integers(end), self.integers(axis))

    def unsigned(self, value: int, *more: int) -> str:
        values = np.array([number & MASK for number in (value, *more)], np.uint64)
        return self.constant(values if more else values[0])

    def _number(self, a: str | int) -> str:
        return self.constant(np.array(a, np.int32)) if isinstance(a, int) else a

    # Numbers and flags.

    def add(self, a: str, b: str | int) -> str:
        return self.node("Add", a, self._number(b))

    def subtract(self, a: str | int, b: str | int) -> str:
        return self.node("Sub", self._number(a), self._number(b))

    def multiply(self, a: str, b: str | int) -> str:
        return self.node("Mul", a, self._number(b))

    def minimum(self, a: str, b: str | int) -> str:
        return self.node("Min", a, self._number(b))

    def maximum(self, a: str, b: str | int) -> str:
        return self.node("Max", a, self._number(b))

    def shift_right(self, a: str, bits: int) -> str:
        return self.node("Div", a, self._number(1 << bits))

    def shift_right_by(self, a: str, bits: np.ndarray, index: str) -> str:
        return self.node("Div", a, self.lookup(1 << bits, index))

    def remainder(self, a: str, divisor: int) -> str:
        return self.node("Mod", a, self._number(divisor))

    def running_sum(self, a: str) -> str:
        return self.node("CumSum", a, self.constant(np.array(0, np.int64)))

    def largest(self, a: str) -> str:
        return self.node("ReduceMax", a, keepdims=1)

    def smallest(self, a: str) -> str:
        return self.node("ReduceMin", a, keepdims=1)

    def equal(self, a: str, b: str | int) -> str:
        return self.node("Equal", a, self._number(b))

    def at_least(self, a: str | int, b: str | int) -> str:
        return self.node("GreaterOrEqual", self._number(a), self._number(b))

    def both(self, *flags: str) -> str:
        first, *others = flags
        for other in others:
            first = self.node("And", first, other)
        return first

    def number(self, flag: str) -> str:
        return self.cast(flag, _INT32)

    def choose(self, flag: str, yes: str | int, no: str | int) -> str:
        return self.node("Where", flag, self._number(yes), self._number(no))

    # Vectors.

    def places(self, like: str) -> str:
        zero, one = (self.constant(np.array(n, np.int64)) for n in (0, 1))
        return self.cast(self.node("Range", zero, self.node("Size", like), one), _INT32)

    def moved(self, a: str, by: int) -> str:
        gap = self.constant(np.zeros(abs(by), np.int32))
        return self.concat(self.slice(a, by), gap) if by > 0 else self.concat(gap, self.slice(a, 0, by))

    def joined(self, *vectors: str) -> str:
        return self.concat(*vectors)

    def rows(self, a: str, start: int, count: int) -> str:
        return self.slice(a, start, start + count)

    def lookup(self, table: np.ndarray, index: str) -> str:
        found = self.node("Gather", self.constant(table), index)
        return found if table.dtype == np.int32 else self.cast(found, _INT32)

    def columns(self, tables: Sequence[np.ndarray], index: str) -> list[str]:
        found = self.cast(self.node("Gather", self.constant(np.stack(tables)), index, axis=1), _INT32)
        return [
            self.node("Gather", found, self.constant(np.array(number, np.int64)), axis=0)
            for number in range(len(tables))
        ]

    def pick(self, a: str, index: str) -> str:
        return self.node("Gather", a, index)

    def sums(self, a: str, index: str, count: int) -> str:
        return self.node("ScatterElements", self._zeros(count, np.int32), index, a, axis=0, reduction="add")

    def _zeros(self, count: int, dtype: type[np.generic]) -> str:
        zero = onnx.numpy_helper.from_array(np.zeros(1, dtype))
        return self.node("ConstantOfShape", self.hidden(count), value=zero)

    def hidden(self, size: int) -> str:
        """A shape of one axis that a runtime cannot know before it runs.

        ONNX Runtime (1.31) plans the memory of tensors whose shape it knows, and compares each with all that came
        before: that takes half of the time in which it loads a graph of so many small steps.
        """
        if self._always is None:
            self._always = self.node("Greater", self.node("Size", self.input), self.integers(-1))
        return self.node("Compress", self.integers(size), self._always)

    def packed(self, kept: str, *vectors: str) -> list[str]:
        zero = self.constant(np.zeros(1, np.int32))
        return [self.concat(zero, self.node("Compress", vector, kept)) for vector in vectors]

    # Wide numbers.

    def wide(self, a: str) -> str:
        return self.cast(a, _UINT64)

    def wide_add(self, a: str, b: str) -> str:
        return self.node("Add", a, b)

    def wide_multiply(self, a: str, factor: str | int) -> str:
        return self.node("Mul", a, self.unsigned(factor) if isinstance(factor, int) else factor)

    def wide_choose(self, flag: str, yes: str, no: str) -> str:
        signed = [self.cast(value, _INT64) for value in (yes, no)]
        return self.cast(self.node("Where", flag, *signed), _UINT64)

    def xor(self, a: str, b: str | int) -> str:
        return self.node("BitwiseXor", a, self.unsigned(b) if isinstance(b, int) else b)

    def bits_right(self, a: str, bits: str) -> str:
        return self.node("BitShift", a, bits, direction="RIGHT")

    def mix(self, a: str) -> str:
        return self.xor(a, self.bits_right(a, self.unsigned(_SHIFT)))

    def mix_both(self, a: str, b: str) -> list[str]:
        return [self.mix(a), self.mix(b)]

    def with_low_bits(self, a: str, low: str) -> str:
        return self.wide_add(self.node("BitwiseAnd", a, self.unsigned(MASK - 3)), self.wide(low))

    def blocks(self, parts: str, start: str, count: int) -> str:
        half = self.shift_right(start, 2)
        place = self.subtract(start, self.multiply(half, 4))
        # uint32 first: a part of four bytes may be negative.
        unsigned = self.cast(self.cast(parts, onnx.TensorProto.UINT32), _UINT64)
        weights = self.constant(np.array([1, 1 << 8, 1 << 16, 1 << 24], np.uint64))
        wide = self.node("Mul", unsigned, self.node("Gather", weights, place))
        lower = self.node("BitwiseAnd", wide, self.unsigned(0xFFFFFFFF))
        upper = self.bits_right(wide, self.unsigned(32))
        target = self.concat(half, self.add(half, 1))
        halves = self.node(
            "ScatterElements",
            self._zeros(2 * count, np.int64),
            target,
            self.cast(self.concat(lower, upper), _INT64),
            axis=0,
            reduction="add",
        )
        pairs = self.reshape(self.cast(halves, _UINT64), count, 2)
        even, odd = (self.node("Gather", pairs, self.constant(np.array(n, np.int64)), axis=1) for n in (0, 1))
        return self.wide_add(even, self.wide_multiply(odd, 1 << 32))

    def repeat(
        self,
        rounds: str,
        state: Sequence[str],
        fixed: Sequence[str],
        body: Callable[[str, Sequence[str], Sequence[str]], Sequence[str]],
    ) -> list[str]:
        def inner(number: str, names: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
            return body(self.cast(number, _INT32), names, fixed), ()

        return self.loop(self.reshape(self.cast(rounds, _INT64)), state, inner)

    def loop(
        self,
        rounds: str,
        state: Sequence[str],
        body: Callable[[str, Sequence[str]], tuple[Sequence[str], Sequence[str]]],
        kinds: Sequence[int] | None = None,
    ) -> list[str]:
        """`body(round, state)` gives the next state and what is stacked up round by round. `kinds` are the types of
        both, all of them wide numbers unless given.
        """
        names = [self.name() for _ in state]
        number, going = self.name(), self.name()
        with self._inner() as nodes:
            after, stacked = body(number, names)
            done = [self.node("Identity", value) for value in (*after, *stacked)]
            still = self.node("Identity", going)
        types = kinds or [_UINT64] * len(done)
        make, flag = onnx.helper.make_tensor_value_info, onnx.TensorProto.BOOL
        given = [make(name, kind, None) for name, kind in zip(names, types, strict=False)]
        made = [make(name, kind, None) for name, kind in zip(done, types, strict=True)]
        graph = onnx.helper.make_graph(
            nodes, "round", [make(number, _INT64, []), make(going, flag, []), *given], [make(still, flag, []), *made]
        )
        true = self.constant(np.array(True))
        return self._node("Loop", (rounds, true, *state), len(done), {"body": graph})

    def branch(self, condition: str, yes: Callable[[], str], no: Callable[[], str], kind: int) -> str:
        """What one of two makes, of one type."""
        graphs = {}
        for name, make in (("then_branch", yes), ("else_branch", no)):
            with self._inner() as nodes:
                result = self.node("Identity", make())
            graphs[name] = onnx.helper.make_graph(
                nodes, name, [], [onnx.helper.make_tensor_value_info(result, kind, None)]
            )
        return self.node("If", self.reshape(condition), **graphs)

    @contextmanager
    def _inner(self) -> Iterator[list[onnx.NodeProto]]:
        """Nodes that are written inside go into this list. They may read what was made outside."""
        outer, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = outer
