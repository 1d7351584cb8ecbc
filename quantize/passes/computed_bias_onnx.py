"""Pass: a Gemm that adds something computed becomes a MatMul and an Add.

tf2onnx makes such a Gemm of a dense layer without a bias and the skip path behind it. A quantizer takes a Gemm's third input
for a constant bias. Requires: nothing. Ensures: the third input of every plain Gemm is a constant.
"""

import onnx

_DEFAULTS = {("alpha", 1.0), ("beta", 1.0), ("transA", 0), ("transB", 0)}


def computed_bias_onnx(model: onnx.ModelProto) -> int:
    """Changes the model in place; returns how many nodes were changed."""
    graph = model.graph
    constants = {initializer.name for initializer in graph.initializer}
    nodes: list[onnx.NodeProto] = []
    changed = 0
    for node in graph.node:
        options = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
        plain = node.op_type == "Gemm" and set(options.items()) <= _DEFAULTS
        if not plain or len(node.input) < 3 or node.input[2] in constants:
            nodes.append(node)
            continue
        product = f"{node.output[0]}/product"
        nodes.append(onnx.helper.make_node("MatMul", node.input[:2], [product], name=node.name))
        nodes.append(onnx.helper.make_node("Add", [product, node.input[2]], node.output, name=f"{node.name}/add"))
        changed += 1
    if changed:
        del graph.node[:]
        graph.node.extend(nodes)
    return changed
