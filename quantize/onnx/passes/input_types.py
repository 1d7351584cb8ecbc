"""Pass: an int8 input of whole numbers is taken as float32 or int32, for apps and runtimes that have no int8 arrays.

An input that is cast to float right away (float recipes) needs no cast as float32, and the same one as int32. One that
goes into a DequantizeLinear with scale 1 and zero point 0 gets a QuantizeLinear or a Cast in front. Whole numbers of
-128 to 127 stay what they are, so no answer changes by a bit. Names and sizes stay, other inputs are untouched.
"""

from collections.abc import Iterator

import numpy as np
import onnx

from quantize.onnx.conditions import in_order
from quantize.onnx.graph import constants, copied, readers, set_nodes, values
from quantize.rewrite import rewrite

_KINDS = {"float32": onnx.TensorProto.FLOAT, "int32": onnx.TensorProto.INT32}


def exact_int8_inputs(model: onnx.ModelProto) -> Iterator[str]:
    """int8 inputs go into casts to float alone, or into one DequantizeLinear with scale 1 and zero point 0."""
    graph, known = model.graph, constants(model.graph)
    found = readers(graph)
    for value in _int8_inputs(graph):
        nodes = found.get(value.name, [])
        if _are_casts(nodes):
            continue
        kinds = [node.op_type for node in nodes]
        settings = [values(known[name]) for node in nodes for name in node.input[1:] if name in known]
        if kinds != ["DequantizeLinear"] or [np.ravel(one).tolist() for one in settings] != [[1.0], [0]]:
            yield f"int8 input {value.name!r} must be cast, or dequantized with scale 1. Received: {', '.join(kinds)}."


def no_int8_input(model: onnx.ModelProto) -> Iterator[str]:
    for value in _int8_inputs(model.graph):
        yield f"input {value.name!r} is int8."


def input_types(model: onnx.ModelProto, kind: str) -> onnx.ModelProto:
    """A new model; the given one stays as it is. `kind` is float32 or int32."""
    result = copied(model)
    _change(result, kind)
    return result


@rewrite(requires=(exact_int8_inputs,), ensures=(in_order, no_int8_input))
def _change(model: onnx.ModelProto, kind: str) -> None:
    graph = model.graph
    for value in _int8_inputs(graph):
        nodes = readers(graph).get(value.name, [])
        if not _are_casts(nodes):
            _narrow(graph, value.name, nodes[0], kind)
        elif kind == "float32":
            made = {node.output[0] for node in nodes}
            set_nodes(graph, [node for node in graph.node if node.output[0] not in made])
            for node in graph.node:
                node.input[:] = [value.name if name in made else name for name in node.input]
        value.type.tensor_type.elem_type = _KINDS[kind]


def _int8_inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    return [value for value in graph.input if value.type.tensor_type.elem_type == onnx.TensorProto.INT8]


def _are_casts(nodes: list[onnx.NodeProto]) -> bool:
    return all(
        node.op_type == "Cast" and any(one.name == "to" and one.i == onnx.TensorProto.FLOAT for one in node.attribute)
        for node in nodes
    )


def _narrow(graph: onnx.GraphProto, name: str, dequantize: onnx.NodeProto, kind: str) -> None:
    """Puts a node between the input and its DequantizeLinear, which reads int8 as before."""
    inner = f"{name}_int8"
    if kind == "int32":
        first = onnx.helper.make_node("Cast", [name], [inner], to=onnx.TensorProto.INT8)
    else:
        first = onnx.helper.make_node("QuantizeLinear", [name, *dequantize.input[1:]], [inner])
    dequantize.input[0] = inner
    graph.node.insert(0, first)
