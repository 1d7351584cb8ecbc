"""Pass: a classifier of tokens gets three int32 inputs of one length and one output, the probabilities.

Libraries that tokenize texts themselves bind tensors by these names and feed rows that are padded to one length. An
input that the network does not read, the segments of single texts, is there all the same. In the signature the inputs
keep their own names. Requires one signature with a float output [1, labels].
"""

from quantize.rewrite import rewrite
from quantize.tflite.conditions import in_order, one_signature
from quantize.tflite.graph import Model, add_tensor, schema, text
from quantize.tflite.passes.label_outputs import PROBABILITIES, activation, one_float_output

# Names of the tensors in their order, and what signatures call them.
INPUTS = {"ids": "ids", "segment_ids": "segments", "mask": "mask"}


@rewrite(requires=(one_signature, one_float_output), ensures=(one_signature, one_float_output, in_order))
def classifier_form(model: Model) -> None:
    """Edits the model in place."""
    graph, signature = model.subgraphs[0], next(iter(model.signatureDefs or ()))
    given = {text(entry.name): entry for entry in signature.inputs}
    unknown = set(given) - set(INPUTS.values())
    if unknown or "ids" not in given:
        raise ValueError(f"The inputs must be some of {', '.join(INPUTS.values())}. Received: {', '.join(given)}.")
    like = graph.tensors[given["ids"].tensorIndex]
    for tensor, name in INPUTS.items():
        if name not in given:
            entry = schema.TensorMapT()
            entry.name, entry.tensorIndex = name, add_tensor(graph, like, schema.TensorType.INT32)
            given[name] = entry
        graph.tensors[given[name].tensorIndex].name = tensor
        graph.tensors[given[name].tensorIndex].shapeSignature = None
    signature.inputs = [given[name] for name in INPUTS.values()]
    graph.inputs = [entry.tensorIndex for entry in signature.inputs]
    (logits,) = graph.outputs
    made = add_tensor(graph, graph.tensors[logits], schema.TensorType.FLOAT32, PROBABILITIES)
    graph.tensors[logits].name = None
    graph.operators = [*graph.operators, activation(model, logits, made, multi_label=False)]
    graph.outputs = [made]
    (answer,) = signature.outputs
    answer.name, answer.tensorIndex = PROBABILITIES, made
