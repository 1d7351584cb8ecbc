"""Recipes for TFLite that change the weights only: float16 storage, and int8 weights with dynamic activations.

Both are rewrites of a float model, without a second conversion. Why not the tools at hand: TFLiteConverter's dynamic
models need FULLY_CONNECTED version 12, which Android's TFLite 2.12 and 2.14 refuse; those of ai-edge-quantizer load in
tflite-runtime 2.14 and return zeros. Those written here run in it.
"""

from typing import Any

import numpy as np

from quantize.errors import RecipeError
from quantize.tflite.flatbuffer import (
    Model,
    add_operator_code,
    buffer_bytes,
    op_name,
    read_model,
    schema,
    tensor_name,
    write_model,
)
from quantize.tflite.operators import DENSE, LOOKUP, WEIGHTED
from quantize.tflite.passes.compact import compact

# Operator -> (axis of the output channels or None for one scale for the whole tensor, version that can do it). Scales per
# channel need version 12 of FULLY_CONNECTED, one scale needs 9.
_DYNAMIC: dict[str, tuple[int | None, int]] = {"CONV_2D": (WEIGHTED["CONV_2D"].axis, 5), DENSE: (None, 9)}
# Below this the scale costs more than the bytes saved.
MIN_WEIGHT_ELEMENTS = 64
FLOAT16_DEQUANTIZE_VERSION = 3
INT8_DEQUANTIZE_VERSION = 2
# Mean square of the rounding error with one scale over that with a scale for each row, from which a MUL is worth it.
LEVEL_GAIN = 1.5
INT8_GATHER_VERSION = 2


def to_float32(float_model: bytes) -> bytes:
    """The same values in a compact file."""
    model = read_model(float_model)
    compact(model)
    return write_model(model)


def to_float16(float_model: bytes) -> bytes:
    """Constants stored as float16; a DEQUANTIZE in front of each reader makes them float32 at load time."""
    model = read_model(float_model)
    for graph in model.subgraphs:
        constants = _float_constants(model, graph)
        widened: dict[int, int] = {}
        operators: list[Any] = []
        code = (
            add_operator_code(model, schema.BuiltinOperator.DEQUANTIZE, FLOAT16_DEQUANTIZE_VERSION) if constants else -1
        )
        for index, values in constants.items():
            with np.errstate(over="ignore"):  # judged in the next line
                half = values.astype(np.float16)
            if not np.isfinite(half).all():
                raise RecipeError(f"Recipe fp16 needs weights below 65504. Received: {np.abs(values).max():g}.")
            wide = _tensor_like(graph.tensors[index], schema.TensorType.FLOAT32)
            graph.tensors[index].type = schema.TensorType.FLOAT16
            graph.tensors[index].buffer = _add_buffer(model, half)
            graph.tensors = [*graph.tensors, wide]
            widened[index] = len(graph.tensors) - 1
            operator = schema.OperatorT()
            operator.opcodeIndex = code
            operator.inputs, operator.outputs = [index], [widened[index]]
            operators.append(operator)
        for operator in graph.operators:
            operator.inputs = [widened.get(int(i), int(i)) for i in operator.inputs]
        graph.operators = [*operators, *graph.operators]
    compact(model)
    return write_model(model)


def to_int8_dynamic(float_model: bytes) -> bytes:
    """int8 weights of convolutions, dense layers and tables; the runtime quantizes the layers' inputs as it runs."""
    model = read_model(float_model)
    for graph in model.subgraphs:
        constants = _float_constants(model, graph)
        _quantize_lookups(model, graph, constants)
        done: dict[int, int | None] = {}
        extra: dict[int, Any] = {}
        leveled: dict[tuple[int, int], int] = {}
        for operator in graph.operators:
            name = op_name(model, operator)
            if name not in _DYNAMIC:
                continue
            (axis, version), position = _DYNAMIC[name], WEIGHTED[name].position
            index = int(operator.inputs[position])
            if index not in constants or constants[index].size < MIN_WEIGHT_ELEMENTS:
                continue
            if name == DENSE and index not in done and _rows_differ(constants[index]):
                changed = _level_rows(model, graph, operator, constants, leveled)
                if changed is not None:
                    index = int(operator.inputs[position])
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
    compact(model)
    return write_model(model)


def _rows_differ(weights: np.ndarray) -> bool:
    """Whether one scale for all rows rounds much more coarsely than a scale for each row would."""
    peaks = np.abs(weights).max(axis=1)
    return bool(np.square(peaks).max() > LEVEL_GAIN * np.square(peaks).mean())


def _level_rows(
    model: Model, graph: Any, dense: Any, constants: dict[int, np.ndarray], known: dict[tuple[int, int], int]
) -> Any:
    """Makes all rows of a dense layer's weights equally large, and gives the MUL that undoes it behind the layer.

    So one scale for the whole matrix, all that older runtimes know, rounds each row as its own scale would. The bias is
    divided with the row; the activation moves to the MUL. None where the result is an output or the bias not constant.
    `known`: what was made before, by the constant (-1: the factors) and the weights, since layers may share them.
    """
    result = int(dense.outputs[0])
    biases = [int(i) for i in dense.inputs[2:] if i >= 0]
    if result in {int(i) for i in graph.outputs} or any(i not in constants for i in biases):
        return None
    inputs = [int(i) for i in dense.inputs]
    kernel = inputs[1]
    peaks = np.abs(constants[kernel]).max(axis=1)
    factors = np.where(peaks > 0, peaks / peaks.max(), 1.0).astype(np.float32)
    if (-1, kernel) not in known:
        known[-1, kernel] = _add_constant(model, graph, factors)
    for position, shape in ((1, (-1, 1)), (2, (-1,))):
        if position < len(inputs) and inputs[position] >= 0:
            key = (inputs[position], kernel)
            if key not in known:
                values = constants[inputs[position]] / factors.reshape(shape)
                known[key] = _add_constant(model, graph, values)
                constants[known[key]] = values
            inputs[position] = known[key]
    dense.inputs = inputs
    level = _tensor_like(graph.tensors[result], schema.TensorType.FLOAT32)
    graph.tensors.append(level)
    dense.outputs = [len(graph.tensors) - 1]
    product = schema.OperatorT()
    product.opcodeIndex = add_operator_code(model, schema.BuiltinOperator.MUL, 1)
    product.builtinOptionsType = schema.BuiltinOptions.MulOptions
    product.builtinOptions = schema.MulOptionsT()
    product.builtinOptions.fusedActivationFunction = dense.builtinOptions.fusedActivationFunction
    dense.builtinOptions.fusedActivationFunction = schema.ActivationFunctionType.NONE
    product.inputs = [dense.outputs[0], known[-1, kernel]]
    product.outputs = [result]
    return product


def _add_constant(model: Model, graph: Any, values: np.ndarray) -> int:
    tensor = schema.TensorT()
    tensor.shape, tensor.type = np.array(values.shape, np.int32), schema.TensorType.FLOAT32
    tensor.buffer = _add_buffer(model, values.astype(np.float32))
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1


def _quantize_lookups(model: Model, graph: Any, constants: dict[int, np.ndarray]) -> None:
    """Tables that GATHER reads as int8 with one scale (it knows no other), a DEQUANTIZE behind each lookup."""
    readers: dict[int, set[str]] = {}
    for operator in graph.operators:
        for position, index in enumerate(operator.inputs):
            kind = "table" if position == 0 and op_name(model, operator) == LOOKUP else "other"
            readers.setdefault(int(index), set()).add(kind)
    tables = {
        i for i, values in constants.items() if readers.get(i) == {"table"} and values.size >= MIN_WEIGHT_ELEMENTS
    }
    for index in sorted(tables):
        _quantize_tensor(model, graph.tensors[index], constants[index], None)
    operators: list[Any] = []
    for operator in graph.operators:
        operators.append(operator)
        if op_name(model, operator) != LOOKUP or int(operator.inputs[0]) not in tables:
            continue
        table, wide = graph.tensors[int(operator.inputs[0])], int(operator.outputs[0])
        narrow = _tensor_like(graph.tensors[wide], schema.TensorType.INT8)
        narrow.quantization = table.quantization
        graph.tensors.append(narrow)
        operator.outputs = [len(graph.tensors) - 1]
        operator.opcodeIndex = add_operator_code(model, schema.BuiltinOperator.GATHER, INT8_GATHER_VERSION)
        dequantize = schema.OperatorT()
        dequantize.opcodeIndex = add_operator_code(model, schema.BuiltinOperator.DEQUANTIZE, INT8_DEQUANTIZE_VERSION)
        dequantize.inputs, dequantize.outputs = [len(graph.tensors) - 1], [wide]
        operators.append(dequantize)
    graph.operators = operators


def symmetric_int8(values: np.ndarray, axis: int | None) -> tuple[np.ndarray, np.ndarray]:
    """int8 values in [-127, 127] and their scales, one for each slice along the axis or one in all."""
    others = tuple(i for i in range(values.ndim) if i != axis)
    peak = np.abs(values).max(axis=others if axis is not None else None, keepdims=True)
    scale = (np.where(peak > 0, peak, 1.0) / 127.0).astype(np.float32)
    return np.clip(np.rint(values / scale), -127, 127).astype(np.int8), scale.reshape(-1)


def _quantize_tensor(model: Model, tensor: Any, values: np.ndarray, axis: int | None) -> None:
    quantized, scale = symmetric_int8(values, axis)
    tensor.type = schema.TensorType.INT8
    tensor.buffer = _add_buffer(model, quantized)
    tensor.quantization = schema.QuantizationParametersT()
    tensor.quantization.scale = scale
    tensor.quantization.zeroPoint = np.zeros(scale.size, np.int64)
    tensor.quantization.quantizedDimension = axis or 0


def _float_constants(model: Model, graph: Any) -> dict[int, np.ndarray]:
    found = {}
    for index, tensor in enumerate(graph.tensors):
        data = buffer_bytes(model, tensor)
        if data is not None and tensor.type == schema.TensorType.FLOAT32:
            shape = tuple(int(size) for size in tensor.shape) if tensor.shape is not None else ()
            found[index] = np.frombuffer(data, np.float32).reshape(shape)
    return found


def _tensor_like(source: Any, kind: int) -> Any:
    tensor = schema.TensorT()
    tensor.shape, tensor.type, tensor.name, tensor.buffer = source.shape, kind, None, 0
    return tensor


def _add_buffer(model: Model, values: np.ndarray) -> int:
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(values.tobytes(), np.uint8)
    model.buffers = [*model.buffers, buffer]
    return len(model.buffers) - 1
