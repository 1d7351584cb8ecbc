"""Pass: a product of a matrix with constant weights, and the sum with its constant bias, become one Gemm.

tf2onnx does this only where all sizes are known, and the quantizers need it: Gemm takes a bias of 32 bits. Then each
MatMul of two axes with weights of two axes, whose result only an Add reads, with a constant of as many numbers as the
weights have columns, is a Gemm. No value changes.
"""

import onnx

from quantize.onnx.conditions import in_order
from quantize.onnx.graph import constants, readers, set_nodes, without_weights
from quantize.rewrite import rewrite


@rewrite(requires=(in_order,), ensures=(in_order,))
def fuse_gemm(model: onnx.ModelProto) -> int:
    """Edits the model in place; returns how many were fused."""
    graph = model.graph
    known, read_by, axes = constants(graph), readers(graph), _axes(model)
    outputs = {value.name for value in graph.output}
    products: set[str] = set()
    sums: dict[str, onnx.NodeProto] = {}
    for node in graph.node:
        made, found = node.output[0], read_by.get(node.output[0], [])
        if node.op_type != "MatMul" or node.input[1] not in known or axes.get(node.input[0]) != 2:
            continue
        if len(known[node.input[1]].dims) != 2 or made in outputs or len(found) != 1 or found[0].op_type != "Add":
            continue
        bias = next((name for name in found[0].input if name != made), "")
        if bias in known and list(known[bias].dims) == [known[node.input[1]].dims[1]]:
            products.add(made)
            sums[found[0].output[0]] = onnx.helper.make_node("Gemm", [*node.input, bias], found[0].output)
    set_nodes(graph, [sums.get(node.output[0], node) for node in graph.node if node.output[0] not in products])
    return len(sums)


def _axes(model: onnx.ModelProto) -> dict[str, int]:
    """How many axes each tensor has, as far as that can be inferred."""
    inferred = onnx.shape_inference.infer_shapes(without_weights(model)).graph
    values = [value for value in (*inferred.input, *inferred.value_info) if value.type.tensor_type.HasField("shape")]
    return {value.name: len(value.type.tensor_type.shape.dim) for value in values}
