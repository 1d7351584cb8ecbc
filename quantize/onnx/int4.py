"""int4 for ONNX: weights of dense layers in 4 bits with a scale for each block of 32, tables of words for each row.

Two numbers are stored in a byte. A runtime computes dense layers as in int8-dynamic, and what makes their 4 bits 8 bits
again reads constants only: ONNX Runtime does that once, when it loads the file. So a file has half the bytes of
int8-dynamic and its speed, and runs wherever that runs. Rows of tables are taken apart behind the look-up. While it
loads, ONNX Runtime keeps what every step makes of every constant, so there are few steps, one of them in float.

Leaves out what is there for 4 bits: types of the standard, of which ONNX Runtime 1.21 has no Cast; and its own
MatMulNBits, which takes as long as float32 for a text (it is made for one token at a time). Smaller layers, those that
read no multiple of 32 channels and convolutions get int8 as in int8-dynamic.
"""

import numpy as np
import onnx

from quantize.arrays import Array
from quantize.int4 import BLOCK, check_share, is_dense_fit, is_table_fit, quantize_blocks, quantize_rows
from quantize.onnx.dynamic import Writer
from quantize.onnx.graph import attribute, constants, copied, values
from quantize.onnx.numbers import paired_scales
from quantize.onnx.operators import LOOKUP
from quantize.onnx.passes.compact import compact
from quantize.onnx.scale_limits import check_scales
from quantize.onnx.weights import lookups, quantize_lookups

# What is taken apart is that many times the number: the four bits are the upper ones of a byte.
UPPER = 16


def to_int4(float_model: onnx.ModelProto) -> onnx.ModelProto:
    """A new model. One with most of its weights elsewhere is refused."""
    model = copied(float_model)
    floats = [item for item in model.graph.initializer if item.data_type == onnx.TensorProto.FLOAT]
    total = sum(int(np.prod(item.dims)) for item in floats)
    writer = _Writer(model.graph)
    writer.write()
    check_share(writer.narrow, total)
    quantize_lookups(model.graph, keep=writer.row_scales)
    compact(model)
    check_scales(model)
    return model


class _Writer(Writer):
    """Stores weights and tables that fit in 4 bits. Counts them."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        super().__init__(graph)
        known = constants(graph)
        columns = {node.input[0] for node in graph.node if node.op_type == LOOKUP and attribute(node, "axis", 0)}
        fits = {name for name in lookups(graph) - columns if is_table_fit(tuple(known[name].dims))}
        self._tables = {name: values(known[name]) for name in fits}
        self._stored_tables: dict[str, tuple[str, str]] = {}
        self.narrow = 0
        self.row_scales: set[str] = set()

    def store(self, matrix: Array) -> tuple[str, str]:
        """The int8 weights of a dense layer are 4 bits times what the scale of a block is to that of its channel."""
        if matrix.ndim != 2 or not is_dense_fit(*matrix.shape):
            return super().store(matrix)
        self.narrow += int(matrix.size)
        outputs = matrix.shape[1]
        # A block takes inputs at equal distances: so what a step with a scale for each column makes, [input of a block,
        # block * output], is in the order of the inputs.
        integers, scales = (each.T for each in quantize_blocks(matrix.reshape(BLOCK, -1).T))
        channels = paired_scales((integers * scales).reshape(matrix.shape))
        steps = np.minimum(UPPER * channels / scales.reshape(-1, outputs), np.finfo(np.float16).max)
        apart = self._apart(self.constant(together(integers, axis=0)), axis=0)
        wide = self.add("Cast", [apart], to=onnx.TensorProto.FLOAT)
        zeros = self.add("Expand", [self.constant(np.array(0, np.int8)), self.constant(np.array([steps.size]))])
        half = self.constant(steps.reshape(-1).astype(np.float16))
        # In float32: runtimes divide 16-bit numbers in more than one way, and would make other weights of them.
        scale = self.add("Cast", [half], to=onnx.TensorProto.FLOAT)
        weights = self.add("QuantizeLinear", [wide, scale, zeros], axis=1)
        shape = self.constant(np.array(matrix.shape, np.int64))
        return self.add("Reshape", [weights, shape]), self.constant(channels)

    def other(self, node: onnx.NodeProto) -> None:
        """Look-ups in tables that fit: of bytes and of scales."""
        table = node.input[0] if node.op_type == LOOKUP else ""
        if table not in self._tables:
            super().other(node)
            return
        if table not in self._stored_tables:
            integers, scales = quantize_rows(self._tables[table])
            self.narrow += int(integers.size)
            self._stored_tables[table] = (
                self.constant(together(integers, axis=1)),
                self.constant(scales[:, None] / UPPER),
            )
            self.row_scales.add(self._stored_tables[table][1])
        found, scale = (self.add(LOOKUP, [each, node.input[1]]) for each in self._stored_tables[table])
        wide = self.add("Cast", [self._apart(found, axis=-1)], to=onnx.TensorProto.FLOAT)
        self.add("Mul", [wide, scale], result=node.output[0])

    def _apart(self, name: str, *, axis: int) -> str:
        """int8, the numbers in the low halves of bytes and then those in the high halves, along the axis; times 16."""
        low = self.add("BitShift", [name, self.constant(np.array(4, np.uint8))], direction="LEFT")
        high = self.add("BitwiseAnd", [name, self.constant(np.array(0xF0, np.uint8))])
        return self.add("Cast", [self.add("Concat", [low, high], axis=axis)], to=onnx.TensorProto.INT8)


def together(integers: Array, *, axis: int) -> Array:
    """Bytes with the first half of the numbers along the axis in their low halves, the second in their high halves."""
    low, high = np.split(integers.astype(np.uint8), 2, axis=axis)
    return (low & 15) | (high << 4)
