"""Puts QuantizeLinear and DequantizeLinear around the operators of a float ONNX graph.

An operator with an integer kernel in ONNX Runtime reads dequantized values and its result is quantized; one that only
moves values keeps the scale; any other stays in float, and its result is quantized where an integer operator reads it.
A table that is looked up is stored in 8 bits and looked up there. Model outputs are not rounded. Leaves out how ranges
are chosen (`ranges.py`).
"""

from collections.abc import Mapping

import numpy as np
import onnx

from quantize.arrays import Array
from quantize.onnx.graph import constants, producers, readers, set_nodes, values
from quantize.onnx.numbers import (
    REDUCED_PEAK,
    Parameters,
    activation_parameters,
    paired_scales,
    quantize_bias,
    quantize_table,
    quantize_weights,
    weight_scales,
    widen_for_bias,
)
from quantize.onnx.operators import BIAS, INTEGER_KERNEL, LOOKUP, MATRIX, SCALE_KEEPING, WEIGHTED, is_grouped
from quantize.onnx.regions import float_region

# Gather too, where it picks: a table that it looks up is stored in 8 bits.
MOVES = (*SCALE_KEEPING, LOOKUP)


class QdqWriter:
    """Rewrites one graph; used once."""

    def __init__(self, model: onnx.ModelProto, ranges: Mapping[str, tuple[float, float]]) -> None:
        self._graph = model.graph
        self._ranges = ranges
        self._initializers = constants(self._graph)
        self._outputs = {value.name for value in self._graph.output}
        self._unrounded: set[str] = set()
        self._nodes: list[onnx.NodeProto] = []
        self._added: list[onnx.TensorProto] = []
        # Names of dequantized forms and the parameters behind them, by the name of the float tensor.
        self._quantized: dict[str, tuple[str, Parameters]] = {}
        # Scales that were handed on to a tensor which is left in float.
        self._inherited: dict[str, Parameters] = {}
        # Results of operators in float, and constants: both can be read without rounding.
        self._kept = set(self._initializers)
        self._shared: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        # Where weights are used: (what they are multiplied with, their bias), by name; and their 8 bits.
        self._uses: dict[str, list[tuple[str, str]]] = {}
        self._integers: dict[tuple[str, int, bytes], str] = {}

    def write(self) -> None:
        _drop_relu(self._graph)
        region = float_region(self._graph.node)
        self._unrounded = _unrounded(self._graph, region)
        for node in self._graph.node:
            if node.op_type in WEIGHTED:
                bias = node.input[BIAS] if len(node.input) > BIAS else ""
                self._uses.setdefault(node.input[1], []).append((node.input[0], bias))
        for position, node in enumerate(list(self._graph.node)):
            if position in region and self._is_float(node):
                self._keep(node)
            elif node.op_type in WEIGHTED:
                self._weighted(node)
            elif node.op_type in INTEGER_KERNEL and self._is_float(node):
                self._compute(node)
            elif node.op_type == LOOKUP and self._constant(node.input[0]) is not None:
                self._look_up(node)
            elif node.op_type in MOVES and node.input[0] in self._quantized:
                self._move(node)
            else:
                self._keep(node)
        del self._graph.node[:]
        self._graph.node.extend(self._nodes)
        self._graph.initializer.extend(self._added)

    def _constant(self, name: str) -> Array | None:
        """The values of a float constant; None for anything else."""
        item = self._initializers.get(name)
        if item is None or item.data_type != onnx.TensorProto.FLOAT:
            return None
        return values(item)

    def _is_float(self, node: onnx.NodeProto) -> bool:
        """Whether the operator works on float values; sums and products of whole numbers do not."""
        return all(name in self._ranges for name in node.output)

    def _keep(self, node: onnx.NodeProto) -> None:
        """In float: it reads the dequantized results of integer operators, and float values as they are."""
        node.input[:] = [
            self._quantized[name][0] if name in self._quantized and name not in self._kept else name
            for name in node.input
        ]
        self._nodes.append(node)
        self._kept.update(node.output)

    def _weighted(self, node: onnx.NodeProto) -> None:
        weights = self._constant(node.input[1])
        if weights is None:
            self._compute(node)
            return
        if node.op_type == "MatMul" and weights.ndim > MATRIX:
            self._matrices(node, weights)
            return
        options = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
        if node.op_type == "Gemm" and (options.get("transA") or options.get("alpha", 1.0) != 1.0):
            raise ValueError(f"A plain Gemm was expected. Received: {options}.")
        axis = 0 if node.op_type == "Conv" or options.get("transB") else weights.ndim - 1
        source, parameters = self._dequantized(node.input[0])
        scales = self._weight_scales(node.input[1], weights, axis)
        bias = self._constant(node.input[BIAS]) if len(node.input) > BIAS else None
        if bias is None and len(node.input) > BIAS and node.input[BIAS]:
            raise ValueError(
                f"A constant bias was expected. Received: {node.input[BIAS]}, which {node.op_type} computes with."
            )
        if bias is not None:
            scales = widen_for_bias(scales, parameters.scale, bias)
        key = (node.input[1], axis, scales.tobytes())
        if key not in self._integers:
            self._integers[key] = self._add(quantize_weights(weights, scales, axis))
        zeros = np.zeros(scales.shape, np.int8)
        inputs = [
            source,
            self._stored(self._integers[key], self._add_parameter(scales), self._add_parameter(zeros), axis),
        ]
        if bias is not None:
            steps, scales = quantize_bias(bias, parameters.scale, scales)
            # A bias has its own scales, which nothing shares; written as bytes they are the shorter form.
            inputs.append(self._stored(self._add(steps), self._add(scales), self._add(np.zeros_like(steps)), 0))
        node.input[:] = inputs
        self._emit(node)

    def _matrices(self, node: onnx.NodeProto, weights: Array) -> None:
        """Several matrices, as those of heads: the kernel takes one scale for all."""
        scale = paired_scales(weights).max()
        key = (node.input[1], weights.ndim, scale.tobytes())
        if key not in self._integers:
            scales = np.full(weights.shape[-1], scale)
            self._integers[key] = self._add(quantize_weights(weights, scales, weights.ndim - 1))
        source, _ = self._dequantized(node.input[0])
        name = f"{self._integers[key]}:float:{len(self._nodes)}"
        inputs = [self._integers[key], self._add_parameter(scale), self._add_parameter(np.int8(0))]
        self._nodes.append(onnx.helper.make_node("DequantizeLinear", inputs, [name]))
        node.input[:] = [source, name]
        self._emit(node)

    def _weight_scales(self, name: str, weights: Array, axis: int) -> Array:
        """Scales that serve all uses of the weights: layers that share weights would else each store their own."""
        scales, uses = _finest_scales(weights, axis), self._uses[name]
        for source, bias_name in uses if len(uses) > 1 else ():
            bias = self._constant(bias_name)
            if bias is not None and source in self._ranges:
                scales = widen_for_bias(scales, activation_parameters(*self._ranges[source]).scale, bias)
        return scales

    def _compute(self, node: onnx.NodeProto) -> None:
        # Axes, shapes and the like are whole numbers and stay.
        node.input[:] = [
            self._dequantized(name)[0] if name in self._ranges or self._constant(name) is not None else name
            for name in node.input
        ]
        self._emit(node)

    def _look_up(self, node: onnx.NodeProto) -> None:
        """The 8-bit table goes through Gather, DequantizeLinear comes behind it."""
        table, parameters = quantize_table(values(self._initializers[node.input[0]]))
        name = node.output[0]
        node.input[0] = self._add(table)
        node.output[0] = f"{name}:integer"
        self._nodes.append(node)
        self._dequantize(node.output[0], name, parameters, name if name in self._outputs else f"{name}:float")

    def _move(self, node: onnx.NodeProto) -> None:
        node.input[0], parameters = self._quantized[node.input[0]]
        self._emit(node, parameters)

    def _emit(self, node: onnx.NodeProto, parameters: Parameters | None = None) -> None:
        """Adds the operator and quantizes its results, unless they are outputs of the model."""
        self._nodes.append(node)
        for name in node.output:
            if parameters is not None:
                self._inherited[name] = parameters
            if name not in self._outputs and name not in self._unrounded:
                self._quantize(name)

    def _dequantized(self, name: str) -> tuple[str, Parameters]:
        if name not in self._quantized:
            constant = self._constant(name)
            if constant is None:
                self._quantize(name)
            else:
                table, parameters = quantize_table(constant)
                self._dequantize(self._add(table), name, parameters, f"{name}:float")
        return self._quantized[name]

    def _quantize(self, name: str) -> None:
        parameters = self._inherited.get(name) or activation_parameters(*self._ranges[name])
        integer = f"{name}:integer"
        inputs = [name, self._add_parameter(parameters.scale), self._add_parameter(parameters.zero)]
        self._nodes.append(onnx.helper.make_node("QuantizeLinear", inputs, [integer]))
        self._dequantize(integer, name, parameters, f"{name}:float")

    def _dequantize(self, integer: str, name: str, parameters: Parameters, target: str) -> None:
        inputs = [integer, self._add_parameter(parameters.scale), self._add_parameter(parameters.zero)]
        self._nodes.append(onnx.helper.make_node("DequantizeLinear", inputs, [target]))
        self._quantized[name] = (target, parameters)

    def _stored(self, integer: str, scales: str, zeros: str, axis: int) -> str:
        """The dequantized form of a constant with a scale for each channel. Each reader gets one of its own: a runtime
        fuses them with it.
        """
        name = f"{integer}:float:{len(self._nodes)}"
        self._nodes.append(onnx.helper.make_node("DequantizeLinear", [integer, scales, zeros], [name], axis=axis))
        return name

    def _add(self, numbers: Array) -> str:
        """A new constant."""
        name = f"qdq:{len(self._added)}"
        self._added.append(onnx.numpy_helper.from_array(numbers, name))
        return name

    def _add_parameter(self, numbers: Array | np.generic) -> str:
        """Scales or zero points; equal ones are stored once."""
        array = np.asarray(numbers)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._shared:
            self._shared[key] = name = f"qdq:{len(self._added)}"
            kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            self._added.append(onnx.helper.make_tensor(name, kind, array.shape, array.reshape(-1).tolist()))
        return self._shared[key]


def _finest_scales(weights: Array, axis: int) -> Array:
    """What lies side by side in a convolution is up to the runtime, so there each weight has seven bits."""
    if weights.ndim != 2:
        return weight_scales(weights, axis, REDUCED_PEAK)
    return paired_scales(weights if axis == 1 else weights.T)


def _unrounded(graph: onnx.GraphProto, region: set[int]) -> set[str]:
    """Tensors that no integer operator reads: there is no use in rounding them."""
    outputs = {value.name for value in graph.output}
    places: dict[str, list[int]] = {}
    for position, node in enumerate(graph.node):
        for name in node.input:
            places.setdefault(name, []).append(position)
    found: set[str] = set()
    made_by = producers(graph)
    for node in reversed(graph.node):
        # QLinearConv has no float result, unlike products of matrices: parts that are rounded are joined in integers.
        if node.op_type == "Concat" and all(name in made_by and made_by[name].op_type == "Conv" for name in node.input):
            continue
        for name in node.output:
            moved = all(
                place in region or (graph.node[place].op_type in MOVES and set(graph.node[place].output) <= found)
                for place in places.get(name, ())
            )
            if moved and (name in places or name in outputs):
                found.add(name)
    return found


def _is_rounded(node: onnx.NodeProto) -> bool:
    """Convolutions of groups stay in float, and what reads them may too."""
    return node.op_type in (*WEIGHTED, "Add") and not is_grouped(node)


def _drop_relu(graph: onnx.GraphProto) -> None:
    """A Relu or Clip right behind an operator that is quantized does nothing: its result has a range that clips too."""
    outputs = {value.name for value in graph.output}
    read_by, made_by = readers(graph), producers(graph)
    kept = []
    for node in graph.node:
        source = made_by.get(node.input[0]) if node.op_type in ("Clip", "Relu") else None
        removable = source is not None and _is_rounded(source) and node.output[0] not in outputs
        if source is not None and removable and len(read_by[node.input[0]]) == 1 and node.input[0] not in outputs:
            source.output[0] = node.output[0]
        else:
            kept.append(node)
    set_nodes(graph, kept)
