"""Pass: text in instead of features in, by one custom operator in front.

Requires one signature with one input, int8 features `[batch, time, feature]` of static shape. Then the input is a
string tensor `[batch]` called "text", and the first operator is the projection, whose output is the former input. All
other operators and all weights are untouched, so text-in and features-in files agree by construction. The custom
options are the text form of the projection's settings, nothing else.
"""

from collections.abc import Iterator

import numpy as np

from quantize.rewrite import rewrite
from quantize.tflite.conditions import in_order, one_signature
from quantize.tflite.graph import Model, Operator, OperatorCode, Tensor, schema, shape, tensor_name

CUSTOM_OP = "ExportMobileSequenceProjection"
TEXT_INPUT = "text"


def one_features_input(model: Model) -> Iterator[str]:
    graph = model.subgraphs[0]
    inputs = [graph.tensors[index] for index in graph.inputs]
    if len(inputs) != 1 or inputs[0].type != schema.TensorType.INT8 or len(shape(inputs[0])) != 3:
        found = [(tensor_name(tensor), list(shape(tensor))) for tensor in inputs]
        yield f"one int8 input [batch, time, feature] was expected. Received: {found}."


@rewrite(requires=(one_signature, one_features_input), ensures=(in_order,))
def prepend_projection(model: Model, config_text: str) -> None:
    """Edits the model in place."""
    graph = model.subgraphs[0]
    features = graph.inputs[0]
    text: Tensor = schema.TensorT()
    text.name, text.type, text.buffer = TEXT_INPUT, schema.TensorType.STRING, 0
    text.shape = list(shape(graph.tensors[features])[:1])
    graph.tensors.append(text)

    code: OperatorCode = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
    code.customCode, code.version = CUSTOM_OP, 1
    model.operatorCodes.append(code)

    operator: Operator = schema.OperatorT()
    operator.opcodeIndex = len(model.operatorCodes) - 1
    operator.inputs, operator.outputs = [len(graph.tensors) - 1], [features]
    operator.customOptions = np.frombuffer(config_text.encode(), np.uint8)
    graph.operators = [operator, *graph.operators]
    graph.inputs = list(operator.inputs)
    for signature in model.signatureDefs or ():
        signature.inputs[0].name, signature.inputs[0].tensorIndex = TEXT_INPUT, operator.inputs[0]
