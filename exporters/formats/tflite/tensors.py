"""Questions about the tensors of a .tflite graph: types, scales, and which constants are weights."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from exporters.formats.model_file import MIN_WEIGHT_ELEMENTS
from quantize.tflite.graph import TYPE_NAMES, is_constant, looks_up_positions, op_name
from quantize.tflite.operators import BIAS, LOOKUP, WEIGHTED


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
            if large and kind(tensor) not in ("INT32", "INT64"):
                yield tensor


def constants(model: Any, graph: Any) -> Iterator[Any]:
    return (tensor for tensor in graph.tensors if is_constant(model, tensor))


def parameters(model: Any, graph: Any) -> int:
    """Elements of all weights and biases, shared ones once."""
    biases = {
        int(operator.inputs[BIAS])
        for operator in graph.operators
        if op_name(model, operator) in WEIGHTED and len(operator.inputs) > BIAS
    }
    found = {}
    for index, tensor in enumerate(graph.tensors):
        if is_constant(model, tensor) and (kind(tensor) != "INT32" or index in biases):
            found[tensor.buffer] = elements(tensor)
    return sum(found.values())
