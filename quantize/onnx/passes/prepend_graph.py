"""Pass: another input in front, by the nodes of a whole model that computes the features.

Requires one int8 input `[batch, time, feature]`, and a front of the same opset with one input and one output, whose
first axis is one row. In the result the front's nodes come first and write the former input; outputs are of one row.
Names of the front get a prefix where the model has the same. All else is untouched but for the largest length, which
belonged to the former input.
"""

import itertools
from collections.abc import Iterator

import onnx

from quantize.onnx.conditions import in_order
from quantize.onnx.graph import BATCH, LONGEST, copied, set_nodes
from quantize.rewrite import rewrite


def one_features_input(model: onnx.ModelProto) -> Iterator[str]:
    inputs = [(value.name, value.type.tensor_type) for value in model.graph.input]
    if len(inputs) != 1 or inputs[0][1].elem_type != onnx.TensorProto.INT8 or len(inputs[0][1].shape.dim) != 3:
        yield f"one int8 input [batch, time, feature] was expected. Received: {[name for name, _ in inputs]}."


def prepend_graph(model: onnx.ModelProto, front: onnx.ModelProto) -> onnx.ModelProto:
    """A new model; the given ones stay as they are."""
    result = copied(model)
    _prepend(result, front)
    return result


@rewrite(requires=(one_features_input,), ensures=(in_order,))
def _prepend(model: onnx.ModelProto, front: onnx.ModelProto) -> None:
    _check_front(model, front)
    graph, added = model.graph, copied(front).graph
    features = graph.input[0].name
    kept = {added.input[0].name: added.input[0].name, added.output[0].name: features, "": ""}
    _rename(added, kept, _names(graph))
    set_nodes(graph, (*added.node, *graph.node))
    graph.initializer.extend(added.initializer)
    del graph.input[:]
    graph.input.append(added.input[0])
    for value in graph.output:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == BATCH:
                dim.dim_value = 1
    for place in reversed(range(len(model.metadata_props))):
        if model.metadata_props[place].key == LONGEST:
            del model.metadata_props[place]
    model.ir_version = max(model.ir_version, front.ir_version)


def _check_front(model: onnx.ModelProto, front: onnx.ModelProto) -> None:
    graph = front.graph
    if len(graph.input) != 1 or len(graph.output) != 1 or front.functions:
        raise ValueError("A front has one input, one output and no functions. Received: something else.")
    if graph.input[0].name in _names(model.graph):
        raise ValueError(f"The input must have a name of its own. Received: {graph.input[0].name!r}.")
    made, given = graph.output[0].type.tensor_type, model.graph.input[0].type.tensor_type
    pairs = zip(made.shape.dim, given.shape.dim, strict=False)
    sizes = [(one.dim_value, other.dim_value) for one, other in pairs if one.dim_value and other.dim_value]
    if made.elem_type != given.elem_type or len(made.shape.dim) != 3 or any(one != other for one, other in sizes):
        raise ValueError(f"A front must make int8 features {given.shape}. Received: {made.shape}.")
    opsets = [{entry.domain: entry.version for entry in one.opset_import} for one in (model, front)]
    if opsets[1].keys() != {""} or opsets[0].get("") != opsets[1][""]:
        raise ValueError(f"A front must be of the opset of the model, {opsets[0]}. Received: {opsets[1]}.")


def _names(graph: onnx.GraphProto) -> set[str]:
    """All names of tensors, those of graphs inside of operators among them."""
    found = {value.name for value in (*graph.input, *graph.output, *graph.initializer)}
    for node in graph.node:
        found.update((*node.input, *node.output))
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                found |= _names(attribute.g)
    return found


def _rename(graph: onnx.GraphProto, kept: dict[str, str], taken: set[str]) -> None:
    """Gives the names that are not in `kept` a prefix, the shortest that keeps them apart from those in `taken`."""
    own = _names(graph) - kept.keys()
    prefixes = ("" if count == 0 else "p" * count + "_" for count in itertools.count())
    prefix = next(prefix for prefix in prefixes if taken.isdisjoint(prefix + name for name in own))
    _apply(graph, kept | {name: prefix + name for name in own})


def _apply(graph: onnx.GraphProto, names: dict[str, str]) -> None:
    for value in (*graph.input, *graph.output, *graph.initializer):
        value.name = names[value.name]
    for node in graph.node:
        node.input[:] = [names[name] for name in node.input]
        node.output[:] = [names[name] for name in node.output]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _apply(attribute.g, names)
