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


def full_name(node: onnx.NodeProto) -> str:
    """The operator's type, with its domain where it is not the standard's."""
    return node.op_type if node.domain in STANDARD else f"{node.domain}.{node.op_type}"
