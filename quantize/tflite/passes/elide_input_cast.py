"""Pass: an integer input that holds small whole numbers reaches int8 without a detour through float.

Requires: a quantized graph in which an int8 or int32 input is cast to float32, and that float is only read by QUANTIZE
with scale 1 and zero point 0 (what a quantizer writes when the range of the cast is [-128, 127]).
Ensures: for int8 both operators are gone and the input tensor itself has scale 1, zero point 0; for int32 one CAST to
int8 is left. Not one value changes, for QUANTIZE(CAST(x)) = x. An int8 input that is cast and then stays float is
refused, an int32 input that does is left alone.
"""

from typing import Any

import numpy as np

from quantize.tflite.flatbuffer import Model, add_operator_code, op_name, schema, tensor_name

# The first version of CAST that writes int8.
CAST_VERSION = 3


def elide_input_cast(model: Model) -> None:
    """Edits every subgraph of the model in place."""
    for graph in model.subgraphs:
        for index in list(graph.inputs):
            if graph.tensors[index].type == schema.TensorType.INT8:
                _elide(model, graph, int(index))
            elif graph.tensors[index].type == schema.TensorType.INT32:
                _narrow(model, graph, int(index))


def _elide(model: Model, graph: Any, index: int) -> None:
    casts = _readers(graph, index)
    if not casts or any(op_name(model, cast) != "CAST" for cast in casts):
        return
    quantizes = [reader for cast in casts for reader in _readers(graph, int(cast.outputs[0]))]
    for quantize in quantizes:
        if not _is_exact(model, graph, quantize):
            raise ValueError(
                f"Input {tensor_name(graph.tensors[index])!r} must be quantized with scale 1 and zero point 0 "
                f"right after its cast. Received: {op_name(model, quantize)}."
            )
    _set_exact(graph.tensors[index])
    replaced = {int(quantize.outputs[0]) for quantize in quantizes}
    gone = {id(operator) for operator in (*casts, *quantizes)}
    graph.operators = [operator for operator in graph.operators if id(operator) not in gone]
    for operator in graph.operators:
        operator.inputs = [index if int(i) in replaced else int(i) for i in operator.inputs]


def _narrow(model: Model, graph: Any, index: int) -> None:
    for cast in _readers(graph, index):
        if op_name(model, cast) != "CAST" or int(cast.outputs[0]) in {int(i) for i in graph.outputs}:
            continue
        target = int(cast.outputs[0])
        quantizes = _readers(graph, target)
        if not quantizes or not all(_is_exact(model, graph, quantize) for quantize in quantizes):
            continue
        cast.opcodeIndex = add_operator_code(model, schema.BuiltinOperator.CAST, CAST_VERSION)
        cast.builtinOptionsType = schema.BuiltinOptions.CastOptions
        cast.builtinOptions = schema.CastOptionsT()
        cast.builtinOptions.inDataType = schema.TensorType.INT32
        cast.builtinOptions.outDataType = schema.TensorType.INT8
        graph.tensors[target].type = schema.TensorType.INT8
        _set_exact(graph.tensors[target])
        replaced = {int(quantize.outputs[0]) for quantize in quantizes}
        gone = {id(operator) for operator in quantizes}
        graph.operators = [operator for operator in graph.operators if id(operator) not in gone]
        for operator in graph.operators:
            operator.inputs = [target if int(i) in replaced else int(i) for i in operator.inputs]


def _is_exact(model: Model, graph: Any, quantize: Any) -> bool:
    if op_name(model, quantize) != "QUANTIZE":
        return False
    parameters = graph.tensors[quantize.outputs[0]].quantization
    return list(parameters.scale) == [1.0] and list(parameters.zeroPoint) == [0]


def _set_exact(tensor: Any) -> None:
    tensor.quantization = schema.QuantizationParametersT()
    tensor.quantization.scale = np.array([1], np.float32)
    tensor.quantization.zeroPoint = np.array([0], np.int64)


def _readers(graph: Any, index: int) -> list[Any]:
    return [operator for operator in graph.operators if index in list(operator.inputs)]
