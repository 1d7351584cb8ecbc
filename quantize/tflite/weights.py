"""Recipes for TFLite that change the weights only: float16 storage, and int8 weights with dynamic activations.

Both rewrite a float model, without a second conversion. Why not the tools at hand: TFLiteConverter's dynamic models
need FULLY_CONNECTED version 12, which Android's TFLite 2.12 and 2.14 refuse; those of ai-edge-quantizer load in
tflite-runtime 2.14 and return zeros. Those written here run in it.
"""

import numpy as np

from quantize.arrays import Array
from quantize.float16 import narrow
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import (
    Graph,
    Model,
    Operator,
    Tensor,
    add_buffer,
    add_constant,
    add_operator_code,
    add_tensor,
    float_values,
    is_constant,
    looks_up_positions,
    new_operator,
    new_product,
    op_name,
    schema,
    set_scale,
    tensor_name,
)
from quantize.tflite.operators import BIAS, DENSE, LOOKUP, WEIGHTED
from quantize.tflite.passes.compact import compact
from quantize.tflite.scale_limits import check_scales

# Operator -> (axis of the output channels or None for one scale for the whole tensor, version that can do it). Scales
# per channel need version 12 of FULLY_CONNECTED, one scale needs 9.
_DYNAMIC: dict[str, tuple[int | None, int]] = {"CONV_2D": (WEIGHTED["CONV_2D"].axis, 5), DENSE: (None, 9)}
# Below this the scale costs more than the bytes saved.
MIN_WEIGHT_ELEMENTS = 64
FLOAT16_DEQUANTIZE_VERSION = 3
INT8_DEQUANTIZE_VERSION = 2
# Mean square of the rounding error with one scale over that with a scale for each row, from which a MUL is worth it.
LEVEL_GAIN = 1.5
INT8_GATHER_VERSION = 2
# A row that is smaller than this beside the largest one must not blow up its bias.
LEAST_FACTOR = 1e-12
_TINY = np.finfo(np.float32).tiny


def to_float32(float_model: bytes) -> bytes:
    """The same values in a compact file."""
    model = read_model(float_model)
    compact(model)
    return write_model(model)


def to_float16(float_model: bytes) -> bytes:
    """Constants stored as float16; a DEQUANTIZE in front of each reader makes them float32 at load time."""
    model = read_model(float_model)
    for graph in model.subgraphs:
        widened: dict[int, int] = {}
        operators: list[Operator] = []
        for index, values in _float_constants(model, graph).items():
            tensor = graph.tensors[index]
            name = tensor_name(tensor)
            widened[index] = add_tensor(graph, tensor, schema.TensorType.FLOAT32)
            tensor.type, tensor.buffer = schema.TensorType.FLOAT16, add_buffer(model, narrow(values, name))
            dequantize = schema.BuiltinOperator.DEQUANTIZE
            operators.append(new_operator(model, dequantize, FLOAT16_DEQUANTIZE_VERSION, [index], [widened[index]]))
        for operator in graph.operators:
            operator.inputs = [widened.get(i, i) for i in operator.inputs]
        graph.operators = [*operators, *graph.operators]
    compact(model)
    return write_model(model)


def to_int8_dynamic(float_model: bytes) -> bytes:
    """int8 weights of convolutions, dense layers and tables; the runtime quantizes the layers' inputs as it runs."""
    model = read_model(float_model)
    quantize_dynamic(model)
    compact(model)
    check_scales(model)
    return write_model(model)


def quantize_dynamic(model: Model) -> None:
    """Edits the model in place; constants that are not float stay as they are."""
    for graph in model.subgraphs:
        constants = _float_constants(model, graph)
        _quantize_lookups(model, graph, constants)
        done: dict[int, int | None] = {}
        extra: dict[int, Operator] = {}
        leveled: dict[tuple[int, int], int] = {}
        for operator in graph.operators:
            name = op_name(model, operator)
            if name not in _DYNAMIC:
                continue
            (axis, version), position = _DYNAMIC[name], WEIGHTED[name].position
            index = operator.inputs[position]
            if index not in constants or constants[index].size < MIN_WEIGHT_ELEMENTS:
                continue
            if name == DENSE and index not in done and _rows_differ(constants[index]):
                changed = _level_rows(model, graph, operator, constants, leveled)
                if changed is not None:
                    index = operator.inputs[position]
                    extra[id(operator)] = changed
            if index not in done:
                _quantize_tensor(model, graph.tensors[index], constants[index], axis)
                done[index] = axis
            elif done[index] != axis:
                raise ValueError(f"Weights {tensor_name(graph.tensors[index])!r} are shared by operators that differ.")
            operator.opcodeIndex = add_operator_code(model, getattr(schema.BuiltinOperator, name), version)
            if name == DENSE:
                # The input's zero point follows the data: after ReLU half of a symmetric range would be empty.
                operator.builtinOptions.asymmetricQuantizeInputs = True
        graph.operators = [
            made
            for operator in graph.operators
            for made in ([operator, extra[id(operator)]] if id(operator) in extra else [operator])
        ]


def _rows_differ(weights: Array) -> bool:
    """Whether one scale for all rows rounds much more coarsely than a scale for each row would."""
    peaks = np.abs(weights).max(axis=1)
    return bool(np.square(peaks).max() > LEVEL_GAIN * np.square(peaks).mean())


def _level_rows(
    model: Model, graph: Graph, dense: Operator, constants: dict[int, Array], known: dict[tuple[int, int], int]
) -> Operator | None:
    """Makes all rows of a dense layer's weights equally large, and gives the MUL that undoes it behind the layer.

    So one scale for the whole matrix, all that older runtimes know, rounds each row as its own scale would. The bias is
    divided with the row; the activation moves to the MUL. None where the result is an output or the bias is not
    constant. `known`: what was made before, by the constant (-1: the factors) and the weights, since layers may share
    them.
    """
    result = dense.outputs[0]
    biases = [i for i in dense.inputs[BIAS:] if i >= 0]
    if result in graph.outputs or any(i not in constants for i in biases):
        return None
    inputs = list(dense.inputs)
    kernel = inputs[1]
    peaks = np.abs(constants[kernel]).max(axis=1)
    factors = np.where(peaks > 0, np.maximum(peaks / peaks.max(), LEAST_FACTOR), 1.0).astype(np.float32)
    if (-1, kernel) not in known:
        known[-1, kernel] = add_constant(model, graph, factors)
    for position, shape in ((1, (-1, 1)), (BIAS, (-1,))):
        if position < len(inputs) and inputs[position] >= 0:
            key = (inputs[position], kernel)
            if key not in known:
                values = constants[inputs[position]] / factors.reshape(shape)
                known[key] = add_constant(model, graph, values)
                constants[known[key]] = values
            inputs[position] = known[key]
    dense.inputs = inputs
    dense.outputs = [add_tensor(graph, graph.tensors[result], schema.TensorType.FLOAT32)]
    product = new_product(model, dense.outputs[0], known[-1, kernel], result)
    product.builtinOptions.fusedActivationFunction = dense.builtinOptions.fusedActivationFunction
    dense.builtinOptions.fusedActivationFunction = schema.ActivationFunctionType.NONE
    return product


def _quantize_lookups(model: Model, graph: Graph, constants: dict[int, Array]) -> None:
    """Tables that GATHER reads as int8 with one scale (it knows no other), a DEQUANTIZE behind each lookup.

    Positions stay in float: few bytes, and with one scale they round more than all words do.
    """
    used: dict[int, set[str]] = {}
    for operator in graph.operators:
        for position, index in enumerate(operator.inputs):
            table = position == 0 and op_name(model, operator) == LOOKUP
            kind = "table" if table and not looks_up_positions(model, graph, operator) else "other"
            used.setdefault(index, set()).add(kind)
    tables = {i for i, values in constants.items() if used.get(i) == {"table"} and values.size >= MIN_WEIGHT_ELEMENTS}
    for index in sorted(tables):
        _quantize_tensor(model, graph.tensors[index], constants[index], None)
    operators: list[Operator] = []
    for operator in graph.operators:
        operators.append(operator)
        if op_name(model, operator) != LOOKUP or operator.inputs[0] not in tables:
            continue
        wide = operator.outputs[0]
        narrow_index = add_tensor(graph, graph.tensors[wide], schema.TensorType.INT8)
        graph.tensors[narrow_index].quantization = graph.tensors[operator.inputs[0]].quantization
        operator.outputs = [narrow_index]
        operator.opcodeIndex = add_operator_code(model, schema.BuiltinOperator.GATHER, INT8_GATHER_VERSION)
        dequantize = schema.BuiltinOperator.DEQUANTIZE
        operators.append(new_operator(model, dequantize, INT8_DEQUANTIZE_VERSION, [narrow_index], [wide]))
    graph.operators = operators


def symmetric_int8(values: Array, axis: int | None) -> tuple[Array, Array]:
    """int8 values in [-127, 127] and their scales, one for each slice along the axis or one in all."""
    others = tuple(i for i in range(values.ndim) if i != axis)
    peak = np.abs(values).max(axis=others if axis is not None else None, keepdims=True)
    scale = np.maximum(np.where(peak > 0, peak, 1.0) / 127.0, _TINY).astype(np.float32)
    return np.clip(np.rint(values / scale), -127, 127).astype(np.int8), scale.reshape(-1)


def _quantize_tensor(model: Model, tensor: Tensor, values: Array, axis: int | None) -> None:
    quantized, scale = symmetric_int8(values, axis)
    tensor.type, tensor.buffer = schema.TensorType.INT8, add_buffer(model, quantized)
    set_scale(tensor, scale, np.zeros(scale.size, np.int64), axis or 0)


def _float_constants(model: Model, graph: Graph) -> dict[int, Array]:
    return {
        index: float_values(model, tensor)
        for index, tensor in enumerate(graph.tensors)
        if tensor.type == schema.TensorType.FLOAT32 and is_constant(model, tensor)
    }
