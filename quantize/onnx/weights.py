"""Recipes for ONNX that change the weights only: float16 storage, and 8-bit weights with dynamic activations.

Tables (embeddings) are looked up as they are stored, in 16 or 8 bits, and only what was found is made float: a runtime
would otherwise keep the whole table in float.
"""

import logging

import numpy as np
import onnx

from quantize.arrays import Array
from quantize.float16 import narrow
from quantize.onnx.graph import add_constant, copied, set_nodes, values
from quantize.onnx.numbers import quantize_table
from quantize.onnx.operators import LOOKUP, WEIGHTED, is_grouped
from quantize.onnx.passes.compact import compact

# Below this a Cast costs more than the bytes saved.
MIN_WEIGHT_ELEMENTS = 16
# Smaller tables (the two values of a mask) stay exact.
MIN_TABLE_ELEMENTS = 64
UNSIGNED_ZERO = 128


def to_float32(float_model: onnx.ModelProto) -> onnx.ModelProto:
    """The model as it is: what the converter gives is clean already."""
    return float_model


def to_float16(float_model: onnx.ModelProto) -> onnx.ModelProto:
    """Constants stored as float16 with a Cast to float32, which a runtime folds when it loads the file."""
    model = copied(float_model)
    graph = model.graph
    casts = []
    lookups = _lookups(graph)
    for initializer in graph.initializer:
        if initializer.data_type != onnx.TensorProto.FLOAT:
            continue
        if np.prod(initializer.dims) < MIN_WEIGHT_ELEMENTS:
            continue
        half, wide = narrow(values(initializer)), initializer.name
        if wide in lookups:
            initializer.CopyFrom(onnx.numpy_helper.from_array(half, wide))
            continue
        initializer.CopyFrom(onnx.numpy_helper.from_array(half, f"{wide}_half"))
        casts.append(onnx.helper.make_node("Cast", [initializer.name], [wide], to=onnx.TensorProto.FLOAT))
    halves = {item.name for item in graph.initializer if item.data_type == onnx.TensorProto.FLOAT16}
    nodes = [*casts]
    for node in graph.node:
        nodes.append(node)
        if node.op_type == LOOKUP and node.input[0] in halves:
            found, half_name = node.output[0], f"{node.output[0]}_half"
            node.output[0] = half_name
            nodes.append(onnx.helper.make_node("Cast", [half_name], [found], to=onnx.TensorProto.FLOAT))
    set_nodes(graph, nodes)
    compact(model)
    return model


def _lookups(graph: onnx.GraphProto) -> set[str]:
    """Constants that are read by Gather only, as the table."""
    tables = {node.input[0] for node in graph.node if node.op_type == LOOKUP}
    others = {
        name
        for node in graph.node
        for position, name in enumerate(node.input)
        if node.op_type != LOOKUP or position > 0
    }
    constants = {item.name for item in graph.initializer if item.data_type == onnx.TensorProto.FLOAT}
    return (tables - others) & constants


def _quantize_lookups(graph: onnx.GraphProto) -> None:
    """Tables as uint8 with one scale, a DequantizeLinear behind each lookup."""
    lookups = _lookups(graph)
    parameters = {}
    for initializer in list(graph.initializer):
        if initializer.name in lookups and int(np.prod(initializer.dims)) >= MIN_TABLE_ELEMENTS:
            name = initializer.name
            table, found = quantize_table(values(initializer))
            initializer.CopyFrom(onnx.numpy_helper.from_array(table, name))
            parameters[name] = [
                add_constant(graph, f"{name}_scale", np.asarray(found.scale)),
                add_constant(graph, f"{name}_zero", np.asarray(found.zero)),
            ]
    nodes = []
    for node in graph.node:
        nodes.append(node)
        if node.op_type == LOOKUP and node.input[0] in parameters:
            name, integer = node.output[0], f"{node.output[0]}_integer"
            node.output[0] = integer
            nodes.append(onnx.helper.make_node("DequantizeLinear", [integer, *parameters[node.input[0]]], [name]))
    set_nodes(graph, nodes)


def to_int8_dynamic(float_model: onnx.ModelProto) -> onnx.ModelProto:
    """8-bit weights of convolutions, dense layers and tables; the runtime quantizes the layers' inputs as it runs.

    The weights are unsigned with zero point 128: ConvInteger with signed ones is missing in older runtimes and
    saturates on x86 without VNNI. The batch is fixed at one row, since DynamicQuantizeLinear takes one scale for all
    rows and a row's result would depend on its neighbors. Convolutions in groups stay float: they have few weights, and
    ConvInteger takes several times as long for them.
    """
    from onnxruntime.quantization import QuantizationMode, QuantType

    model = copied(float_model)
    _quantize_lookups(model.graph)
    for number, node in enumerate(model.graph.node):
        node.name = f"node{number}"  # the quantizer refers to operators by name
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 1
    previous_level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        quantizer = _dynamic_quantizer()(
            onnx.shape_inference.infer_shapes(model),
            True,  # per channel, where the operator can
            False,  # reduce_range
            QuantizationMode.IntegerOps,
            False,  # static
            QuantType.QUInt8,
            QuantType.QUInt8,
            None,
            [],
            [node.name for node in model.graph.node if is_grouped(node)],
            list(WEIGHTED),
            {"MatMulConstBOnly": True, "WeightSymmetric": True},
        )
        quantizer.quantize_model()
    finally:
        logging.disable(previous_level)
    quantizer.model.topological_sort()
    result: onnx.ModelProto = quantizer.model.model
    compact(result)
    return result


def _dynamic_quantizer() -> type:
    """The quantizer of onnxruntime, with the weights of a layer in one step.

    It goes channel by channel, and a large model has some ten thousand channels.
    """
    from onnxruntime.quantization.onnx_quantizer import ONNXQuantizer

    class Quantizer(ONNXQuantizer):  # type: ignore[misc] # the library has no types
        def quantize_weight_per_channel_impl(
            self,
            weight_name: str,
            weight_qType: int,  # noqa: N803 - the library's name
            channel_axis: int,
            reduce_range: bool = True,  # noqa: ARG002 - not asked for here
            keep_float_weight: bool = False,  # noqa: ARG002
        ) -> tuple[str, str, str]:
            if weight_qType != onnx.TensorProto.UINT8:
                raise ValueError(f"uint8 weights were expected. Received: {weight_qType}.")
            initializer = next(item for item in self.model.initializer() if item.name == weight_name)
            weights = values(initializer)
            integers, scales = _unsigned(weights, channel_axis % weights.ndim)
            names = tuple(f"{weight_name}_{part}" for part in ("quantized", "zero_point", "scale"))
            zeros = [UNSIGNED_ZERO] * scales.size
            self.model.initializer_extend(
                [
                    onnx.numpy_helper.from_array(integers, names[0]),
                    onnx.helper.make_tensor(names[1], onnx.TensorProto.UINT8, [scales.size], zeros),
                    onnx.helper.make_tensor(names[2], onnx.TensorProto.FLOAT, [scales.size], scales.tolist()),
                ]
            )
            return names[0], names[1], names[2]

    return Quantizer


def _unsigned(weights: Array, axis: int) -> tuple[Array, Array]:
    """uint8 with zero point 128, and the scale of each slice along the axis."""
    others = tuple(i for i in range(weights.ndim) if i != axis)
    scales = 2.0 * np.abs(weights).max(axis=others).astype(np.float64) / 255.0
    scales = np.where(scales < np.finfo(np.float32).tiny, 1.0, scales).astype(np.float32)
    steps = np.rint(weights / scales.reshape([-1 if i == axis else 1 for i in range(weights.ndim)])) + UNSIGNED_ZERO
    return np.clip(steps, 0, 255).astype(np.uint8), scales
