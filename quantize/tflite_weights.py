"""Recipes for TFLite that change the weights only: float16 storage, and int8 weights with dynamic activations.

Both are rewrites of a float model, without a second conversion. Why not the tools at hand: TFLiteConverter's dynamic
models need FULLY_CONNECTED version 12, which Android's TFLite 2.12 and 2.14 refuse; those of ai-edge-quantizer load in
tflite-runtime 2.14 and return zeros. Those written here run in it.
"""

from typing import Any

import numpy as np

from quantize.errors import RecipeError
from quantize.flatbuffer import (
    Model,
    add_operator_code,
    buffer_bytes,
    op_name,
    read_model,
    schema,
    tensor_name,
    write_model,
)
from quantize.passes.compact import compact

# Operator -> (position of the weights among the inputs, axis of the output channels or None for one scale for the
# whole tensor, version that can do it). Scales per channel need version 12 of FULLY_CONNECTED, one scale needs 9.
DYNAMIC_OPS: dict[str, tuple[int, int | None, int]] = {
    "CONV_2D": (1, 0, 5),
    "FULLY_CONNECTED": (1, None, 9),
}
# Below this the scale costs more than the bytes saved.
MIN_WEIGHT_ELEMENTS = 64
FLOAT16_DEQUANTIZE_VERSION = 3


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
    """int8 weights of convolutions and dense layers; the runtime quantizes their inputs as it runs."""
    model = read_model(float_model)
    for graph in model.subgraphs:
        constants = _float_constants(model, graph)
        done: dict[int, int | None] = {}
        for operator in graph.operators:
            name = op_name(model, operator)
            if name not in DYNAMIC_OPS:
                continue
            position, axis, version = DYNAMIC_OPS[name]
            index = int(operator.inputs[position])
            if index not in constants or constants[index].size < MIN_WEIGHT_ELEMENTS:
                continue
            if index not in done:
                _quantize_tensor(model, graph.tensors[index], constants[index], axis)
                done[index] = axis
            elif done[index] != axis:
                raise ValueError(f"Weights {tensor_name(graph.tensors[index])!r} are shared by operators that differ.")
            operator.opcodeIndex = add_operator_code(model, getattr(schema.BuiltinOperator, name), version)
            if name == "FULLY_CONNECTED":
                # The input's zero point follows the data: after ReLU half of a symmetric range would be empty.
                operator.builtinOptions.asymmetricQuantizeInputs = True
    compact(model)
    return write_model(model)


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
