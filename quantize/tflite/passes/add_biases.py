"""Pass: a dense layer on int8 with a scale for each channel has a bias, of zeros if it had none.

tflite-runtime 2.14 crashes on ARM at such a layer without one. Zeros change no value: sums are exact in 32 bits.
"""

from collections.abc import Iterator

import numpy as np

from quantize.arrays import Array
from quantize.rewrite import rewrite
from quantize.tflite.conditions import in_order
from quantize.tflite.graph import Graph, Model, Operator, Tensor, add_buffer, op_name, schema, set_scale
from quantize.tflite.operators import BIAS, DENSE, WEIGHTED

_WEIGHTS = WEIGHTED[DENSE].position


def dense_layers_have_biases(model: Model) -> Iterator[str]:
    for graph in model.subgraphs:
        for operator in graph.operators:
            if _lacks_bias(model, graph, operator):
                yield f"the dense layer of tensor {operator.outputs[0]} has a scale for each channel and no bias."


@rewrite(ensures=(in_order, dense_layers_have_biases))
def add_biases(model: Model) -> None:
    """Edits every subgraph in place."""
    for graph in model.subgraphs:
        zeros: dict[int, int] = {}
        for operator in graph.operators:
            if not _lacks_bias(model, graph, operator):
                continue
            weights = graph.tensors[operator.inputs[_WEIGHTS]]
            scales = _scales(weights)
            if scales.size not in zeros:
                zeros[scales.size] = add_buffer(model, np.zeros(scales.size, np.int32))
            bias: Tensor = schema.TensorT()
            bias.shape, bias.type, bias.buffer = [int(scales.size)], schema.TensorType.INT32, zeros[scales.size]
            source = _scales(graph.tensors[operator.inputs[0]])
            set_scale(bias, (scales * source[0]).astype(np.float32), np.zeros(scales.size, np.int64))
            graph.tensors.append(bias)
            operator.inputs = [*operator.inputs[:BIAS], len(graph.tensors) - 1]


def _lacks_bias(model: Model, graph: Graph, operator: Operator) -> bool:
    if op_name(model, operator) != DENSE or (len(operator.inputs) > BIAS and operator.inputs[BIAS] >= 0):
        return False
    source, weights = (graph.tensors[index] for index in operator.inputs[:BIAS])
    is_int8 = source.type == weights.type == schema.TensorType.INT8
    return is_int8 and _scales(weights).size > 1


def _scales(tensor: Tensor) -> Array:
    found = tensor.quantization
    return np.asarray([] if found is None or found.scale is None else found.scale, np.float32)
