"""Pass: two more outputs behind float logits `[batch, labels]`: `probabilities`, and `label`, the place of the best.

Requires one signature with one output, float. Probabilities are the softmax of the logits, or the sigmoid of each where
a text may have several labels. The label is int32 `[batch]`, of equal logits the first.
"""

from collections.abc import Iterator

import numpy as np

from quantize.rewrite import rewrite
from quantize.tflite.conditions import in_order
from quantize.tflite.graph import Model, Operator, Tensor, add_buffer, add_tensor, new_operator, schema, shape

PROBABILITIES, LABEL = "probabilities", "label"


def one_float_output(model: Model) -> Iterator[str]:
    graph = model.subgraphs[0]
    outputs = [graph.tensors[index] for index in graph.outputs]
    if len(outputs) != 1 or outputs[0].type != schema.TensorType.FLOAT32 or len(shape(outputs[0])) != 2:
        found = [(output.type, list(shape(output))) for output in outputs]
        yield f"one float output [batch, labels] was expected. Received: {found}."


@rewrite(requires=(one_float_output,), ensures=(in_order,))
def label_outputs(model: Model, *, multi_label: bool) -> None:
    """Edits the first subgraph in place."""
    graph = model.subgraphs[0]
    (logits,) = graph.outputs
    probabilities = add_tensor(graph, graph.tensors[logits], schema.TensorType.FLOAT32, PROBABILITIES)
    label = add_tensor(graph, graph.tensors[logits], schema.TensorType.INT32, LABEL)
    graph.tensors[label].shape = list(shape(graph.tensors[logits])[:1])
    axis: Tensor = schema.TensorT()
    axis.shape, axis.type, axis.buffer = [1], schema.TensorType.INT32, add_buffer(model, np.array([1], np.int32))
    graph.tensors.append(axis)
    graph.operators = [
        *graph.operators,
        activation(model, logits, probabilities, multi_label=multi_label),
        _best(model, logits, len(graph.tensors) - 1, label),
    ]
    graph.outputs = [logits, probabilities, label]
    for signature in model.signatureDefs or ():
        for name, index in ((PROBABILITIES, probabilities), (LABEL, label)):
            entry = schema.TensorMapT()
            entry.name, entry.tensorIndex = name, index
            signature.outputs = [*signature.outputs, entry]


def activation(model: Model, source: int, target: int, *, multi_label: bool) -> Operator:
    """What makes probabilities of logits."""
    if multi_label:
        return new_operator(model, schema.BuiltinOperator.LOGISTIC, 1, [source], [target])
    operator = new_operator(model, schema.BuiltinOperator.SOFTMAX, 1, [source], [target])
    options = schema.SoftmaxOptionsT()
    options.beta = 1.0
    operator.builtinOptionsType, operator.builtinOptions = schema.BuiltinOptions.SoftmaxOptions, options
    return operator


def _best(model: Model, source: int, axis: int, target: int) -> Operator:
    operator = new_operator(model, schema.BuiltinOperator.ARG_MAX, 1, [source, axis], [target])
    options = schema.ArgMaxOptionsT()
    options.outputType = schema.TensorType.INT32
    operator.builtinOptionsType, operator.builtinOptions = schema.BuiltinOptions.ArgMaxOptions, options
    return operator
