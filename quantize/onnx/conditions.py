"""Conditions that passes over ONNX models require or ensure: what is wrong with a model, structure only."""

from collections.abc import Iterator

import onnx


def in_order(model: onnx.ModelProto) -> Iterator[str]:
    """Each node reads inputs, constants and what nodes before it made; no name is made twice."""
    graph = model.graph
    known = {"", *(value.name for value in graph.input), *(item.name for item in graph.initializer)}
    for node in graph.node:
        for name in node.input:
            if name not in known:
                yield f"{node.op_type} reads {name!r} before it is made."
        for name in node.output:
            if name and name in known:
                yield f"{name!r} is made twice."
        known.update(node.output)
    for value in graph.output:
        if value.name not in known:
            yield f"output {value.name!r} is not made."


def nothing_unused(model: onnx.ModelProto) -> Iterator[str]:
    """Every constant and at least one result of every node is read or an output."""
    graph = model.graph
    used = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
    unused = [item.name for item in graph.initializer if item.name not in used]
    unused += [node.output[0] for node in graph.node if used.isdisjoint(node.output)]
    if unused:
        yield f"{len(unused)} tensors are unused, such as {unused[0]!r}."
