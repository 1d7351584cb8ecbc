"""Walks an ONNX graph and the graphs inside of its operators (If, Loop, Scan)."""

from collections.abc import Iterator

import onnx

# Operators of the standard are known by their type alone.
STANDARD = ("", "ai.onnx")


def graphs_of(graph: onnx.GraphProto, name: str = "") -> Iterator[tuple[str, onnx.GraphProto]]:
    """A graph, then those inside of it, each with the operator and the attribute that hold it ("" for the first)."""
    yield name, graph
    for node in graph.node:
        for attribute in node.attribute:
            inner = [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs
            for each in inner:
                yield from graphs_of(each, f"{node.op_type} {attribute.name}")


def nodes_of(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for _, each in graphs_of(graph):
        yield from each.node


def names_of(model: onnx.ModelProto) -> Iterator[str]:
    """Every name in the file. protobuf gives bytes in place of text that is not UTF-8."""
    yield from (model.producer_name, model.producer_version)
    yield from (entry.domain for entry in model.opset_import)
    yield from (entry.key for entry in model.metadata_props)
    for function in model.functions:
        yield from (function.name, function.domain)
    for _, graph in graphs_of(model.graph):
        yield from (item.name for item in graph.initializer)
        yield from (item.values.name for item in graph.sparse_initializer)
        for value in (*graph.input, *graph.output):
            yield value.name
            yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)
        for node in graph.node:
            yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
            yield from (attribute.name for attribute in node.attribute)
            yield from (entry.value for entry in node.metadata_props)


def full_name(node: onnx.NodeProto) -> str:
    """The operator's type, with its domain where it is not the standard's."""
    return node.op_type if node.domain in STANDARD else f"{node.domain}.{node.op_type}"
