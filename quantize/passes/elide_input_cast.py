"""Pass: an int8 input that already holds whole numbers is used as it is.

Requires: a quantized graph in which an int8 input is only read by CAST to float32, whose result is only read by
QUANTIZE with scale 1 and zero point 0 (what a quantizer writes when the range of the cast is [-128, 127]).
Ensures: the two operators are gone and the input tensor itself has scale 1, zero point 0. Not one value changes,
for QUANTIZE(CAST(x)) = x. An int8 input that is cast and then stays float is refused.
"""

from typing import Any

import numpy as np

from quantize.flatbuffer import Model, op_name, schema, tensor_name


def elide_input_cast(model: Model) -> None:
    """Edits every subgraph of the model in place."""
    for graph in model.subgraphs:
        for index in list(graph.inputs):
            if graph.tensors[index].type == schema.TensorType.INT8:
                _elide(model, graph, int(index))


def _elide(model: Model, graph: Any, index: int) -> None:
    casts = _readers(graph, index)
    if not casts or any(op_name(model, cast) != "CAST" for cast in casts):
        return
    quantizes = [reader for cast in casts for reader in _readers(graph, int(cast.outputs[0]))]
    for quantize in quantizes:
        parameters = graph.tensors[quantize.outputs[0]].quantization
        name = op_name(model, quantize)
        if name != "QUANTIZE" or list(parameters.scale) != [1.0] or list(parameters.zeroPoint) != [0]:
            raise ValueError(
                f"Input {tensor_name(graph.tensors[index])!r} must be quantized with scale 1 and zero point 0 "
                f"right after its cast. Received: {name}."
            )
    graph.tensors[index].quantization = schema.QuantizationParametersT()
    graph.tensors[index].quantization.scale = np.array([1], np.float32)
    graph.tensors[index].quantization.zeroPoint = np.array([0], np.int64)
    replaced = {int(quantize.outputs[0]) for quantize in quantizes}
    gone = {id(operator) for operator in (*casts, *quantizes)}
    graph.operators = [operator for operator in graph.operators if id(operator) not in gone]
    for operator in graph.operators:
        operator.inputs = [index if int(i) in replaced else int(i) for i in operator.inputs]


def _readers(graph: Any, index: int) -> list[Any]:
    return [operator for operator in graph.operators if index in list(operator.inputs)]
