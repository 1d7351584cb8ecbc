"""Questions about the tensors of a .tflite graph: types, scales, and which constants are weights."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from exporters.formats.model_file import MIN_WEIGHT_ELEMENTS
from quantize.tflite.graph import TYPE_NAMES, is_constant, looks_up_positions, op_name
from quantize.tflite.operators import BIAS, LOOKUP, WEIGHTED

FLOATS = ("FLOAT32", "FLOAT16")


def kind(tensor: Any) -> str:
    """FLOAT32 and so on."""
    return TYPE_NAMES.get(tensor.type, f"TYPE_{tensor.type}")


def scales(tensor: Any) -> np.ndarray:
    quantization = tensor.quantization
    if quantization is None or quantization.scale is None:
        return np.zeros(0, np.float32)
    return np.asarray(quantization.scale)


def zero_points(tensor: Any) -> np.ndarray:
    """As many as there are scales: a file may leave them out, which stands for 0."""
    found = scales(tensor)
    if not found.size or tensor.quantization.zeroPoint is None:
        return np.zeros(found.size, np.int64)
    return np.asarray(tensor.quantization.zeroPoint)


def elements(tensor: Any) -> int:
    return int(np.prod(tensor.shape)) if tensor.shape is not None else 1


def weights(model: Any, graph: Any) -> Iterator[tuple[str, Any, int]]:
    """Operator name, constant weights and channel axis of each operator that has them."""
    for operator in graph.operators:
        name = op_name(model, operator)
        if name in WEIGHTED:
            position, axis = WEIGHTED[name]
            tensor = graph.tensors[operator.inputs[position]]
            if is_constant(model, tensor):
                yield name, tensor, axis


def tables(model: Any, graph: Any) -> Iterator[Any]:
    """Constants that are looked up: embeddings. Positions may stay in float: see `quantize/tflite/regions.py`."""
    for operator in graph.operators:
        if op_name(model, operator) == LOOKUP and not looks_up_positions(model, graph, operator):
            tensor = graph.tensors[operator.inputs[0]]
            # A table of whole numbers (an order of tokens) is looked up as it is: there is nothing to round.
            large = is_constant(model, tensor) and elements(tensor) >= MIN_WEIGHT_ELEMENTS
            if large and kind(tensor) not in ("INT32", "INT64") and not _is_whole(graph, operator):
                yield tensor


def constants(model: Any, graph: Any) -> Iterator[Any]:
    """Those that stand for numbers of the model; not those of operators on whole numbers."""
    return (graph.tensors[index] for index in of_numbers(graph) if is_constant(model, graph.tensors[index]))


def of_numbers(graph: Any) -> list[int]:
    """What operators read that do not compute in whole numbers alone."""
    found = {index for operator in graph.operators if not _is_whole(graph, operator) for index in operator.inputs}
    return sorted(found - {-1})


def borders(graph: Any) -> Iterator[Any]:
    """Quantized tensors that operators on whole numbers make: the features, in a file that computes them itself."""
    for operator in graph.operators:
        if _is_whole(graph, operator):
            yield from (graph.tensors[index] for index in operator.outputs if scales(graph.tensors[index]).size)


def _is_whole(graph: Any, operator: Any) -> bool:
    """Whether an operator takes whole numbers, without a scale, and makes no float of them."""
    given = [graph.tensors[index] for index in operator.inputs if index >= 0]
    made = [graph.tensors[index] for index in operator.outputs]
    return not any(kind(tensor) in FLOATS for tensor in (*given, *made)) and not any(scales(t).size for t in given)


def parameters(model: Any, graph: Any) -> int:
    """Elements of all weights and biases, shared ones once."""
    biases = {
        int(operator.inputs[BIAS])
        for operator in graph.operators
        if op_name(model, operator) in WEIGHTED and len(operator.inputs) > BIAS
    }
    found = {}
    for index in of_numbers(graph):
        tensor = graph.tensors[index]
        if is_constant(model, tensor) and (kind(tensor) != "INT32" or index in biases):
            found[tensor.buffer] = elements(tensor)
    return sum(found.values())
