"""Pass: a Gemm that adds something computed becomes a MatMul and an Add.

tf2onnx makes such a Gemm of a dense layer without a bias and the skip path behind it, or, with a factor, of such a layer and
the third power in a GELU by tanh; there the product itself is read too and would be computed twice. A quantizer takes a Gemm's
third input for a constant bias. Requires: nodes in order. Ensures: the third input of every Gemm of untransposed matrices is a
constant.
"""

import numpy as np
import onnx

_DEFAULTS = {("alpha", 1.0), ("transA", 0), ("transB", 0)}


def computed_bias(model: onnx.ModelProto) -> int:
    """Changes the model in place; returns how many nodes were changed."""
    graph = model.graph
    constants = {initializer.name for initializer in graph.initializer}
    nodes: list[onnx.NodeProto] = []
    products: dict[tuple[str, ...], str] = {}
    changed = 0
    for node in graph.node:
        options = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
        factor = options.pop("beta", 1.0)
        plain = node.op_type == "Gemm" and set(options.items()) <= _DEFAULTS
        if not plain or len(node.input) < 3 or node.input[2] in constants:
            nodes.append(node)
            if node.op_type == "MatMul":
                products.setdefault(tuple(node.input), node.output[0])
            continue
        name, added = node.output[0], node.input[2]
        factors = tuple(node.input[:2])
        if factors not in products:
            products[factors] = f"{name}/product"
            nodes.append(onnx.helper.make_node("MatMul", factors, [products[factors]], name=node.name))
        if factor != 1.0:
            graph.initializer.append(onnx.numpy_helper.from_array(np.float32(factor), f"{name}/factor"))
            nodes.append(onnx.helper.make_node("Mul", [added, f"{name}/factor"], [f"{name}/added"]))
            added = f"{name}/added"
        nodes.append(onnx.helper.make_node("Add", [products[factors], added], node.output, name=f"{node.name}/add"))
        changed += 1
    if changed:
        del graph.node[:]
        graph.node.extend(nodes)
    return changed
