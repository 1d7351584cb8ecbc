"""Pass: a Gemm that adds something computed becomes a MatMul and an Add.

tf2onnx makes such a Gemm of a dense layer without a bias and the skip path behind it, or, with a factor, of such a
layer and the third power in a GELU by tanh; there the product itself is read too and would be computed twice. A
quantizer takes a Gemm's third input for a constant bias.
"""

from collections.abc import Iterator

import numpy as np
import onnx

from quantize.onnx.conditions import in_order
from quantize.onnx.graph import add_constant, set_nodes
from quantize.onnx.operators import BIAS
from quantize.rewrite import rewrite

_DEFAULTS = {("alpha", 1.0), ("transA", 0), ("transB", 0)}


def biases_are_constant(model: onnx.ModelProto) -> Iterator[str]:
    """Of every Gemm of untransposed matrices."""
    known = {item.name for item in model.graph.initializer}
    for node in model.graph.node:
        if _is_plain(node) and len(node.input) > BIAS and node.input[BIAS] not in known:
            yield f"a Gemm adds {node.input[BIAS]!r}, which is computed."


@rewrite(requires=(in_order,), ensures=(in_order, biases_are_constant))
def computed_bias(model: onnx.ModelProto) -> int:
    """Changes the model in place; returns how many nodes were changed."""
    graph = model.graph
    known = {initializer.name for initializer in graph.initializer}
    nodes: list[onnx.NodeProto] = []
    products: dict[tuple[str, ...], str] = {}
    changed = 0
    for node in graph.node:
        if not _is_plain(node) or len(node.input) <= BIAS or node.input[BIAS] in known:
            nodes.append(node)
            if node.op_type == "MatMul":
                products.setdefault(tuple(node.input), node.output[0])
            continue
        name, added = node.output[0], node.input[BIAS]
        factors = tuple(node.input[:BIAS])
        if factors not in products:
            products[factors] = f"{name}/product"
            nodes.append(onnx.helper.make_node("MatMul", factors, [products[factors]], name=node.name))
        factor = _options(node).get("beta", 1.0)
        if factor != 1.0:
            scale = add_constant(graph, f"{name}/factor", np.array(factor, np.float32))
            nodes.append(onnx.helper.make_node("Mul", [added, scale], [f"{name}/added"]))
            added = f"{name}/added"
        nodes.append(onnx.helper.make_node("Add", [products[factors], added], node.output, name=f"{node.name}/add"))
        changed += 1
    if changed:
        set_nodes(graph, nodes)
    return changed


def _options(node: onnx.NodeProto) -> dict[str, object]:
    return {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}


def _is_plain(node: onnx.NodeProto) -> bool:
    """Whether it is a Gemm without a transposed matrix or a factor of the product."""
    if node.op_type != "Gemm":
        return False
    return {item for item in _options(node).items() if item[0] != "beta"} <= _DEFAULTS
