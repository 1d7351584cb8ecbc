"""Pass: another input in front, by the operators of a whole model that computes the features.

Requires one signature with one input, int8 features `[batch, time, feature]`, and a front with one input and one output
of the same type and shape. The front's operators come first and write the former input, which keeps its quantization
parameters: the front knows none. Graphs that operators of the front call (WHILE, IF) follow the only one of the model,
so they keep their numbers. All other operators and all weights are untouched.
"""

import copy
from collections.abc import Iterator

from quantize.rewrite import rewrite
from quantize.tflite.conditions import calls_exist, in_order, one_signature
from quantize.tflite.graph import Model, Tensor, schema, shape, tensor_name
from quantize.tflite.passes.prepend_projection import one_features_input


def one_named_input(model: Model) -> Iterator[str]:
    graph = model.subgraphs[0]
    if len(graph.inputs) != 1 or len(graph.outputs) != 1 or not tensor_name(graph.tensors[graph.inputs[0]]):
        yield f"a front has one input with a name and one output. Received: {len(graph.inputs)}, {len(graph.outputs)}."


@rewrite(requires=(one_signature, one_features_input), ensures=(in_order, calls_exist))
def prepend_graph(model: Model, front: Model) -> None:
    """Edits the model in place; the front stays as it is."""
    for problem in (*one_named_input(front), *calls_exist(front)):
        raise ValueError(f"Pass prepend_graph: {problem}")
    added = copy.deepcopy(front)
    graph, (first, *others) = model.subgraphs[0], added.subgraphs
    features, made = graph.inputs[0], first.outputs[0]
    _check_same(graph.tensors[features], first.tensors[made])
    for part in added.subgraphs:
        for tensor in part.tensors:
            tensor.buffer += len(model.buffers)
        for operator in part.operators:
            operator.opcodeIndex += len(model.operatorCodes)
    places = {index: index + len(graph.tensors) for index in range(len(first.tensors))} | {made: features, -1: -1}
    for operator in first.operators:
        operator.inputs = [places[index] for index in operator.inputs]
        operator.outputs = [places[index] for index in operator.outputs]
    graph.tensors = [*graph.tensors, *first.tensors]
    graph.operators = [*first.operators, *graph.operators]
    graph.inputs = [places[first.inputs[0]]]
    for signature in model.signatureDefs or ():
        signature.inputs[0].name = tensor_name(graph.tensors[graph.inputs[0]])
        signature.inputs[0].tensorIndex = graph.inputs[0]
    model.buffers = [*model.buffers, *added.buffers]
    model.operatorCodes = [*model.operatorCodes, *added.operatorCodes]
    model.subgraphs = [*model.subgraphs, *others]


def _check_same(expected: Tensor, made: Tensor) -> None:
    if made.type != schema.TensorType.INT8 or shape(made) != shape(expected):
        raise ValueError(
            f"Pass prepend_graph: a front must make int8 {list(shape(expected))}. "
            f"Received: type {made.type}, {list(shape(made))}."
        )
