"""int8-dynamic for ONNX: dense layers, convolutions and tables in 8 bits; activations are quantized as they come.

Products that read the same tensor share its quantization. The weights of dense layers are signed, with zero point 0 and
one scale for each output channel, which is multiplied behind the product: the form that ONNX Runtime fuses and has its
fastest kernels for. What keeps 16-bit sums from saturating: `numbers.paired_scales`. Those of convolutions are unsigned
with zero point 128: ConvInteger with signed ones is missing in older runtimes.

DynamicQuantizeLinear takes one scale for the whole tensor, so in a batch a row's answer depends on its neighbors, by no
more than rounding. Behind a GELU a few tokens have values ten times those of
the others, so there each token gets a scale of its own, which is known to hold GELU's lowest value.

Leaves out convolutions in groups, which stay float: they have few weights, and ConvInteger takes several times as long.
"""

from typing import Any

import numpy as np
import onnx

from quantize.arrays import Array
from quantize.onnx.graph import attribute, constants, copied, producers, set_nodes, values
from quantize.onnx.numbers import paired_scales, quantize_weights, weight_scales
from quantize.onnx.operators import BIAS, DENSE, WEIGHTED, WEIGHTS, is_grouped
from quantize.onnx.passes.compact import compact
from quantize.onnx.scale_limits import check_scales
from quantize.onnx.weights import quantize_lookups

UNSIGNED_ZERO = 128
# Of scales by token behind a GELU, whose values are at least -0.17: sixteen steps below zero, the others above. A token
# without a value above 2.5 gets the step of one that has it.
GELU_ZERO, _GELU_LOW, _TOP = 16, 0.17, 255


def to_int8_dynamic(float_model: onnx.ModelProto) -> onnx.ModelProto:
    """A new model."""
    model = copied(float_model)
    quantize_lookups(model.graph)
    Writer(model.graph).write()
    compact(model)
    check_scales(model)
    return model


class Writer:
    """Rewrites one graph; used once. New names start with "dynamic:". Others may change `store` and `other`."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._constants, self._makers = constants(graph), producers(graph)
        self._nodes: list[onnx.NodeProto] = []
        self._count = 0
        # By the name of the float tensor: its integers, their scale and zero point.
        self._quantized: dict[str, tuple[str, str, str]] = {}
        self._stored: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        # By the name of the weights, and whether they are transposed: integers and scales.
        self._weights: dict[tuple[str, bool], tuple[str, str]] = {}

    def write(self) -> None:
        for node in list(self._graph.node):
            weighted = node.op_type in WEIGHTED and node.input[WEIGHTS] in self._constants
            if weighted and node.op_type in DENSE:
                self._dense(node)
            elif weighted and not is_grouped(node):
                self._convolution(node)
            else:
                self.other(node)
        set_nodes(self._graph, self._nodes)

    def other(self, node: onnx.NodeProto) -> None:
        """What has no weights stays as it is."""
        self._nodes.append(node)

    def _dense(self, node: onnx.NodeProto) -> None:
        """MatMulInteger, Cast, and products with both scales in the order that ONNX Runtime fuses; then the bias."""
        source, by_token = node.input[0], self._is_gelu(node)
        integers, scale, zero = self._of_tokens(source) if by_token else self._of_tensor(source)
        weights, factors = self._dense_weights(node)
        found = self.add("MatMulInteger", [integers, weights, zero, self.constant(np.array(0, np.int8))])
        found = self.add("Cast", [found], to=onnx.TensorProto.FLOAT)
        if by_token:
            found, factor = self.add("Mul", [found, scale]), factors
        else:
            factor = self.add("Mul", [scale, factors])
        bias = node.input[BIAS] if len(node.input) > BIAS else ""
        self._finish(node, found, factor, bias)

    def _finish(self, node: onnx.NodeProto, found: str, factor: str, bias: str) -> None:
        """Makes the result of a node from its integer product."""
        result = node.output[0]
        if not bias:
            self.add("Mul", [found, factor], result=result)
            return
        product = self.add("Mul", [found, factor])
        self.add("Add", [product, bias], result=result)

    def _dense_weights(self, node: onnx.NodeProto) -> tuple[str, str]:
        options = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
        if options.get("transA") or options.get("alpha", 1.0) != 1.0 or options.get("beta", 1.0) != 1.0:
            raise ValueError(f"A plain {node.op_type} was expected. Received: {options}.")
        key = (node.input[WEIGHTS], bool(attribute(node, "transB", 0)))
        if key not in self._weights:
            matrix = values(self._constants[key[0]])
            self._weights[key] = self.store(np.ascontiguousarray(matrix.T) if key[1] else matrix)
        return self._weights[key]

    def store(self, matrix: Array) -> tuple[str, str]:
        """Names of the int8 weights of a dense layer [input, output], or of several, and of their scales."""
        scales = paired_scales(matrix)
        return self.constant(quantize_weights(matrix, scales, matrix.ndim - 1)), self.constant(scales)

    def _is_gelu(self, node: onnx.NodeProto) -> bool:
        maker = self._makers.get(node.input[0])
        return maker is not None and maker.op_type == "Gelu" and node.op_type == "Gemm"  # two axes

    def _of_tensor(self, name: str) -> tuple[str, str, str]:
        if name not in self._quantized:
            made = self._fresh(), self._fresh(), self._fresh()
            self._nodes.append(onnx.helper.make_node("DynamicQuantizeLinear", [name], made))
            self._quantized[name] = made
        return self._quantized[name]

    def _of_tokens(self, name: str) -> tuple[str, str, str]:
        """The same with a scale for each row of a tensor with two axes, as a column; the zero point is one constant."""
        if name not in self._quantized:
            zero = self.constant(np.array(GELU_ZERO, np.uint8))
            peaks = self.add("ReduceMax", [name, self.constant(np.array([-1], np.int64))], keepdims=0)
            steps = self.add("Mul", [peaks, self.constant(np.array(1 / (_TOP - GELU_ZERO), np.float32))])
            scales = self.add("Max", [steps, self.constant(np.array(_GELU_LOW / GELU_ZERO, np.float32))])
            zeros = self.add("Expand", [zero, self.add("Shape", [scales])])
            integers = self.add("QuantizeLinear", [name, scales, zeros], axis=0)
            column = self.add("Reshape", [scales, self.constant(np.array([-1, 1], np.int64))])
            self._quantized[name] = integers, column, zero
        return self._quantized[name]

    def _convolution(self, node: onnx.NodeProto) -> None:
        integers, scale, zero = self._of_tensor(node.input[0])
        kernel = values(self._constants[node.input[WEIGHTS]])
        scales = weight_scales(kernel, 0, UNSIGNED_ZERO - 1)
        unsigned = (quantize_weights(kernel, scales, 0).astype(np.int16) + UNSIGNED_ZERO).astype(np.uint8)
        inputs = [integers, self.constant(unsigned), zero, self.constant(np.array(UNSIGNED_ZERO, np.uint8))]
        options = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
        found = self.add("Cast", [self.add("ConvInteger", inputs, **options)], to=onnx.TensorProto.FLOAT)
        column = (-1, *[1] * (kernel.ndim - 2))  # against [batch, channel, ...]
        factor = self.add("Mul", [scale, self.constant(scales.reshape(column))])
        bias = node.input[BIAS] if len(node.input) > BIAS else ""
        if bias:
            bias = self.constant(values(self._constants[bias]).reshape(column))
        self._finish(node, found, factor, bias)

    def add(self, op_type: str, inputs: list[str], *, result: str = "", **options: Any) -> str:
        """A new node with one result; its name."""
        result = result or self._fresh()
        self._nodes.append(onnx.helper.make_node(op_type, inputs, [result], **options))
        return result

    def _fresh(self) -> str:
        self._count += 1
        return f"dynamic:{self._count}"

    def constant(self, numbers: Array) -> str:
        """The name of a constant; equal ones are stored once."""
        key = (numbers.dtype.str, numbers.shape, numbers.tobytes())
        if key not in self._stored:
            self._stored[key] = name = self._fresh()
            self._graph.initializer.append(onnx.numpy_helper.from_array(numbers, name))
        return self._stored[key]
