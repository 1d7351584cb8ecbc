"""The small steps that passes over ONNX models are made of. The types are those of onnx itself."""

from collections.abc import Iterable, Mapping

import onnx

from quantize.arrays import Array

# The open sizes of inputs and outputs, and what a model's metadata call the largest length.
BATCH, LENGTH, LONGEST = "batch", "length", "max_length"


def copied(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model of its own with the same content."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    return result


def longest(model: onnx.ModelProto) -> int:
    """How many tokens a model of any length takes at most, as it says; 0 if it does not."""
    return next((int(item.value) for item in model.metadata_props if item.key == LONGEST), 0)


def set_longest(model: onnx.ModelProto, length: int) -> None:
    model.metadata_props.append(onnx.StringStringEntryProto(key=LONGEST, value=str(length)))


def constants(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """Constants by name."""
    return {item.name: item for item in graph.initializer}


def values(constant: onnx.TensorProto) -> Array:
    return onnx.numpy_helper.to_array(constant)


def readers(graph: onnx.GraphProto) -> dict[str, list[onnx.NodeProto]]:
    """Nodes by the tensors that they read, once for each time that they read it."""
    found: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            found.setdefault(name, []).append(node)
    return found


def producers(graph: onnx.GraphProto) -> dict[str, onnx.NodeProto]:
    """Nodes by the tensors that they make."""
    return {name: node for node in graph.node for name in node.output}


def attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    """A whole number among the attributes of a node."""
    return next((int(item.i) for item in node.attribute if item.name == name), default)


def set_nodes(graph: onnx.GraphProto, nodes: Iterable[onnx.NodeProto]) -> None:
    """Replaces all nodes. They may be nodes of this graph: what is removed from a message is no longer valid."""
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)


def set_constants(graph: onnx.GraphProto, items: Iterable[onnx.TensorProto]) -> None:
    """Replaces all constants; see `set_nodes`."""
    copies = [onnx.TensorProto.FromString(item.SerializeToString()) for item in items]
    del graph.initializer[:]
    graph.initializer.extend(copies)


def add_constant(graph: onnx.GraphProto, name: str, numbers: Array) -> str:
    """Adds a constant; its name."""
    graph.initializer.append(onnx.numpy_helper.from_array(numbers, name))
    return name


def replace_nodes(graph: onnx.GraphProto, made: Mapping[str, onnx.NodeProto], gone: set[str]) -> None:
    """Puts each node of `made` in the place of the one that made its result, and removes the nodes of `gone`.

    Both go by the first result of a node.
    """
    kept = (
        made.get(node.output[0], node) for node in graph.node if node.output[0] in made or node.output[0] not in gone
    )
    set_nodes(graph, kept)
