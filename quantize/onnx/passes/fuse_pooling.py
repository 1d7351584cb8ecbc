"""Pass: a product of a row with a column, for each channel, becomes a product of single numbers and a sum.

A graph pools over time by such a MatMul, [..., 1, time] with [..., time, 1], which runtimes compute as one tiny product
for each channel: a quarter of the time of a small model. Only where the columns are a Reshape of something with the
time last, so that the same values can be read as rows. The results are the same up to the order of the sum.
"""

import numpy as np
import onnx

from quantize.onnx.conditions import in_order
from quantize.onnx.graph import add_constant, constants, producers, readers, set_nodes, values
from quantize.rewrite import rewrite


@rewrite(requires=(in_order,), ensures=(in_order,))
def fuse_pooling(model: onnx.ModelProto) -> int:
    """Edits the model in place; returns how many products were replaced."""
    graph = model.graph
    known, made_by, read_by = constants(graph), producers(graph), readers(graph)
    shapes = _last_two(model)
    nodes: list[onnx.NodeProto] = []
    changed = 0
    for node in graph.node:
        column = made_by.get(node.input[1]) if node.op_type == "MatMul" else None
        is_column = column is not None and column.op_type == "Reshape" and column.input[1] in known
        shape = values(known[column.input[1]]).tolist() if is_column and column is not None else []
        if column is None or len(shape) < 3 or shape[-1] != 1 or shapes.get(node.input[0], (0, 0))[0] != 1:
            nodes.append(node)
            continue
        if len(read_by[column.output[0]]) != 1:
            nodes.append(node)
            continue
        name = node.output[0]
        rows = add_constant(graph, f"{name}:shape", np.array([*shape[:-2], 1, shape[-2]], np.int64))
        axis = add_constant(graph, f"{name}:axis", np.array([-1], np.int64))
        nodes.append(onnx.helper.make_node("Reshape", [column.input[0], rows], [f"{name}:rows"]))
        nodes.append(onnx.helper.make_node("Mul", [node.input[0], f"{name}:rows"], [f"{name}:products"]))
        nodes.append(onnx.helper.make_node("ReduceSum", [f"{name}:products", axis], [name], keepdims=1))
        nodes = [each for each in nodes if each.output[0] != column.output[0]]
        changed += 1
    if changed:
        set_nodes(graph, nodes)
    return changed


def _last_two(model: onnx.ModelProto) -> dict[str, tuple[int, int]]:
    """The last two sizes of each tensor, 0 where they are not known."""
    inferred = onnx.shape_inference.infer_shapes(model).graph
    found = {}
    for value in (*inferred.value_info, *inferred.input):
        sizes = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if len(sizes) > 1:
            found[value.name] = (sizes[-2], sizes[-1])
    return found
