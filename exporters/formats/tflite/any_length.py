"""A .tflite graph that was traced without a known length gets static shapes, those of its longest input.

A converter writes 1 for a size that it does not know. Here every tensor gets the shape that LiteRT plans for the
longest input, and inputs and outputs keep a signature with -1 beside it. So quantizers, audits and a runtime that never
resizes see a graph of fixed length, and a runtime that resizes an input gets the same graph at another length: its
reshapes are constants with one -1. Leaves out how such a graph is traced (`models_tf/encoder/forward.py`).
"""

from collections.abc import Mapping

from quantize.tflite.conditions import one_signature
from quantize.tflite.graph import Model, text


def plan_longest(model: Model, content: bytes, inputs: Mapping[str, tuple[int, ...]]) -> None:
    """Gives the model the shapes that follow from those of the `inputs`, by the names of its one signature. `content`
    is the file that it was read from.
    """
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    # Without delegates: these would hide the tensors between the operators that they take.
    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=resolver)
    for problem in one_signature(model):
        raise ValueError(problem)
    graph = model.subgraphs[0]
    for entry in (entry for signature in model.signatureDefs or () for entry in signature.inputs):
        interpreter.resize_tensor_input(entry.tensorIndex, inputs[text(entry.name)])
    interpreter.allocate_tensors()
    planned = {detail["index"]: detail["shape"] for detail in interpreter.get_tensor_details()}
    outer = {*graph.inputs, *graph.outputs}
    for index, tensor in enumerate(graph.tensors):
        if tensor.shape:
            tensor.shape = [int(size) for size in planned[index]]
        if index not in outer:
            tensor.shapeSignature = None
