"""Pass: text in instead of features in, by one custom operator in front.

Requires: one subgraph with one input, int8 features `[batch, time, feature]` of static shape, and one signature.
Ensures: the input is a string tensor `[batch]` called "text", the first operator is the projection, whose output is
the former input tensor. All other operators and all weights are untouched, so text-in and features-in files agree by
construction. The custom options are the text form of the projection's settings, nothing else.
"""

import numpy as np

from quantize.tflite.flatbuffer import Model, schema, tensor_name

CUSTOM_OP = "ExportMobileSequenceProjection"
TEXT_INPUT = "text"


def prepend_projection(model: Model, config_text: str) -> None:
    """Edits the model in place."""
    if len(model.subgraphs) != 1 or len(model.signatureDefs or ()) != 1:
        raise ValueError(f"A model with one signature was expected. Received: {len(model.subgraphs)} subgraphs.")
    graph, signature = model.subgraphs[0], model.signatureDefs[0]
    features = graph.tensors[graph.inputs[0]]
    if len(graph.inputs) != 1 or features.type != schema.TensorType.INT8 or len(features.shape) != 3:
        raise ValueError(
            "One int8 input [batch, time, feature] was expected. "
            f"Received: {[tensor_name(graph.tensors[i]) for i in graph.inputs]}, shape {list(features.shape)}."
        )
    text = schema.TensorT()
    text.name = TEXT_INPUT
    text.type = schema.TensorType.STRING
    text.shape = np.asarray(features.shape[:1], np.int32)
    text.buffer = 0
    graph.tensors = [*graph.tensors, text]

    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
    code.customCode = CUSTOM_OP
    code.version = 1
    model.operatorCodes = [*model.operatorCodes, code]

    operator = schema.OperatorT()
    operator.opcodeIndex = len(model.operatorCodes) - 1
    operator.inputs = [len(graph.tensors) - 1]
    operator.outputs = [int(graph.inputs[0])]
    operator.customOptions = np.frombuffer(config_text.encode(), np.uint8)
    graph.operators = [operator, *graph.operators]
    graph.inputs = list(operator.inputs)
    signature.inputs[0].name = TEXT_INPUT
    signature.inputs[0].tensorIndex = operator.inputs[0]
