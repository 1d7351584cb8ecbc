"""Pass: an integer input that holds small whole numbers reaches int8 without a detour through float.

A quantizer turns the cast of such an input into CAST to float32 and QUANTIZE with scale 1 and zero point 0, when the
range of the cast is [-128, 127]. For int8 both operators go and the input itself gets scale 1 and zero point 0; for
int32 one CAST to int8 is left. Not one value changes, since QUANTIZE(CAST(x)) = x. An int8 input that is cast and then
stays float is refused, an int32 input that does is left alone.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from quantize.rewrite import rewrite
from quantize.tflite.conditions import in_order
from quantize.tflite.graph import (
    Graph,
    Model,
    Operator,
    Tensor,
    add_operator_code,
    op_name,
    schema,
    set_scale,
    tensor_name,
)

# The first version of CAST that writes int8.
CAST_VERSION = 3


def no_cast_of_int8_input(model: Model) -> Iterator[str]:
    for graph in model.subgraphs:
        inputs = {index for index in graph.inputs if graph.tensors[index].type == schema.TensorType.INT8}
        for operator in graph.operators:
            if op_name(model, operator) == "CAST" and operator.inputs[0] in inputs:
                yield f"int8 input {tensor_name(graph.tensors[operator.inputs[0]])!r} is cast."


@rewrite(ensures=(in_order, no_cast_of_int8_input))
def elide_input_cast(model: Model) -> None:
    """Edits every subgraph of the model in place."""
    for graph in model.subgraphs:
        for index in list(graph.inputs):
            if graph.tensors[index].type == schema.TensorType.INT8:
                _elide(model, graph, index)
            elif graph.tensors[index].type == schema.TensorType.INT32:
                _narrow(model, graph, index)


def _elide(model: Model, graph: Graph, index: int) -> None:
    casts = _readers(graph, index)
    if not casts or any(op_name(model, cast) != "CAST" for cast in casts):
        return
    quantizes = [reader for cast in casts for reader in _readers(graph, cast.outputs[0])]
    for quantize in quantizes:
        if not _is_exact(model, graph, quantize):
            raise ValueError(
                f"Input {tensor_name(graph.tensors[index])!r} must be quantized with scale 1 and zero point 0 "
                f"right after its cast. Received: {op_name(model, quantize)}."
            )
    _set_exact(graph.tensors[index])
    _remove(graph, (*casts, *quantizes), {quantize.outputs[0] for quantize in quantizes}, index)


def _narrow(model: Model, graph: Graph, index: int) -> None:
    for cast in _readers(graph, index):
        if op_name(model, cast) != "CAST" or cast.outputs[0] in graph.outputs:
            continue
        target = cast.outputs[0]
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
        _remove(graph, quantizes, {quantize.outputs[0] for quantize in quantizes}, target)


def _remove(graph: Graph, operators: Sequence[Operator], results: set[int], source: int) -> None:
    """Removes operators; who read their results reads `source`."""
    gone = {id(operator) for operator in operators}
    graph.operators = [operator for operator in graph.operators if id(operator) not in gone]
    for operator in graph.operators:
        operator.inputs = [source if i in results else i for i in operator.inputs]


def _is_exact(model: Model, graph: Graph, quantize: Operator) -> bool:
    found = graph.tensors[quantize.outputs[0]].quantization
    if op_name(model, quantize) != "QUANTIZE" or found is None or found.scale is None or found.zeroPoint is None:
        return False
    return list(found.scale) == [1.0] and list(found.zeroPoint) == [0]


def _set_exact(tensor: Tensor) -> None:
    set_scale(tensor, np.array([1], np.float32), np.array([0], np.int64))


def _readers(graph: Graph, index: int) -> list[Operator]:
    return [operator for operator in graph.operators if index in operator.inputs]
