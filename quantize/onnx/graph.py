"""The small steps that passes over ONNX models are made of. The types are those of onnx itself."""

import math
from collections.abc import Collection, Iterable, Mapping

import onnx

from quantize.arrays import Array

# The open sizes of inputs and outputs, and what a model's metadata call the largest length.
BATCH, LENGTH, LONGEST = "batch", "length", "max_length"
# Constants of more elements hold no shape, axis or index.
_FEW_VALUES = 64


def copied(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model of its own with the same content."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    return result


def without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same operators on weights that come as inputs: for questions about shapes, which make copies of the model."""
    small = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
    small.graph.node.extend(model.graph.node)
    small.graph.input.extend(model.graph.input)
    small.graph.output.extend(model.graph.output)
    for item in model.graph.initializer:
        if math.prod(item.dims) > _FEW_VALUES:
            small.graph.input.append(onnx.helper.make_tensor_value_info(item.name, item.data_type, item.dims))
        else:
            small.graph.initializer.append(item)
    return small


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


def keep_constants(graph: onnx.GraphProto, needed: Collection[str]) -> None:
    """Removes all other constants. In place: a message keeps the memory of all that it ever held, so a list of copies
    would double that of the model.
    """
    for place in reversed(range(len(graph.initializer))):
        if graph.initializer[place].name not in needed:
            del graph.initializer[place]


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
