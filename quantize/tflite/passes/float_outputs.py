"""Pass: float outputs in place of int8 ones, by a DEQUANTIZE behind each, so that every runtime takes the file.

Names of outputs stay, their values are those that an app would compute: `(q - zero_point) * scale`. What is float
already is untouched.
"""

from collections.abc import Iterator

from quantize.rewrite import rewrite
from quantize.tflite.conditions import in_order
from quantize.tflite.graph import Model, add_tensor, new_operator, schema, tensor_name

_VERSION = 2  # of DEQUANTIZE, for int8


def no_int8_output(model: Model) -> Iterator[str]:
    graph = model.subgraphs[0]
    for index in graph.outputs:
        if graph.tensors[index].type == schema.TensorType.INT8:
            yield f"output {tensor_name(graph.tensors[index])!r} is int8."


@rewrite(ensures=(in_order, no_int8_output))
def float_outputs(model: Model) -> None:
    """Edits the first subgraph in place."""
    graph = model.subgraphs[0]
    for place, index in enumerate(graph.outputs):
        output = graph.tensors[index]
        if output.type != schema.TensorType.INT8:
            continue
        made = add_tensor(graph, output, schema.TensorType.FLOAT32, tensor_name(output))
        graph.tensors[made].shapeSignature = output.shapeSignature
        output.name = None
        operator = new_operator(model, schema.BuiltinOperator.DEQUANTIZE, _VERSION, [index], [made])
        graph.operators = [*graph.operators, operator]
        graph.outputs[place] = made
        for signature in model.signatureDefs or ():
            for entry in signature.outputs if signature.subgraphIndex == 0 else ():
                entry.tensorIndex = made if entry.tensorIndex == index else entry.tensorIndex
