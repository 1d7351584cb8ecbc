"""Pass: leave out of an .onnx file what no runtime reads: long names, shape notes, doc strings, anything unused.

Values and operators stay as they are; inputs and outputs keep their names or get the ones asked for. Nodes and
constants are put in an order that does not depend on the converter's, so that the same model gives the same bytes.
"""

from collections.abc import Iterator, Mapping

import onnx

from quantize.arrays import digest
from quantize.onnx.conditions import in_order, nothing_unused
from quantize.onnx.graph import keep_constants, producers, set_nodes
from quantize.rewrite import rewrite

# What tf2onnx adds beside the operators' own domain and nothing here uses.
_STANDARD_DOMAINS = ("", "ai.onnx")


@rewrite(ensures=(in_order, nothing_unused))
def compact(model: onnx.ModelProto, *, names: Mapping[str, str] | None = None) -> None:
    """Renames, strips and shares in place; `names` maps present names of inputs and outputs to new ones."""
    graph = model.graph
    _share_initializers(graph)
    _drop_unused(graph)
    _order_nodes(graph)
    _order_initializers(graph)
    outer = {value.name: value.name for value in (*graph.input, *graph.output)} | dict(names or {})
    _rename(graph, outer)
    del graph.value_info[:]
    del model.metadata_props[:]
    model.doc_string = graph.doc_string = ""
    graph.name = "model"
    model.producer_name, model.producer_version, model.domain = "export-mobile", "", ""
    for node in graph.node:
        node.doc_string = ""
        node.name = ""
    for value in (*graph.input, *graph.output, *graph.initializer):
        value.doc_string = ""
    used = {node.domain for node in graph.node}
    kept = [entry for entry in model.opset_import if entry.domain in _STANDARD_DOMAINS or entry.domain in used]
    del model.opset_import[:]
    model.opset_import.extend(kept)


def short_names() -> Iterator[str]:
    """a, b, ... z, aa, ab, ..."""
    number = 0
    while True:
        name, rest = "", number
        while rest >= 0:
            name = chr(ord("a") + rest % 26) + name
            rest = rest // 26 - 1
        yield name
        number += 1


def _rename(graph: onnx.GraphProto, outer: Mapping[str, str]) -> None:
    taken = set(outer.values())
    fresh = (name for name in short_names() if name not in taken)
    table = dict(outer) | {"": ""}

    def renamed(name: str) -> str:
        if name not in table:
            table[name] = next(fresh)
        return table[name]

    for value in (*graph.input, *graph.output):
        value.name = renamed(value.name)
    for initializer in graph.initializer:
        initializer.name = renamed(initializer.name)
    for node in graph.node:
        if any(attribute.type == onnx.AttributeProto.GRAPH for attribute in node.attribute):
            raise ValueError(f"Graphs inside of operators are not supported. Received: {node.op_type}.")
        node.input[:] = [renamed(name) for name in node.input]
        node.output[:] = [renamed(name) for name in node.output]


def _share_initializers(graph: onnx.GraphProto) -> None:
    first: dict[bytes, str] = {}
    table: dict[str, str] = {}
    for initializer in graph.initializer:
        key = onnx.TensorProto()
        key.CopyFrom(initializer)
        key.name = ""
        table[initializer.name] = first.setdefault(digest(key.SerializeToString(deterministic=True)), initializer.name)
    for node in graph.node:
        node.input[:] = [table.get(name, name) for name in node.input]


def _drop_unused(graph: onnx.GraphProto) -> None:
    """Operators that reach no output, and initializers that no operator reads."""
    needed = {value.name for value in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            kept.append(node)
    set_nodes(graph, reversed(kept))
    keep_constants(graph, needed)


def _order_nodes(graph: onnx.GraphProto) -> None:
    """Each node after what it reads, walking back from the outputs: the converter's order depends on names that differ
    between two conversions in one process, so the bytes would too.
    """
    made_by = producers(graph)
    ordered: list[onnx.NodeProto] = []
    done: set[str] = set()
    stack = [value.name for value in reversed(graph.output)]
    while stack:
        name = stack[-1]
        node = made_by.get(name)
        waiting = [] if node is None else [n for n in node.input if n in made_by and n not in done]
        if name not in done and waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        if node is not None and name not in done:
            ordered.append(node)
            done.update(node.output)
    set_nodes(graph, ordered)


def _order_initializers(graph: onnx.GraphProto) -> None:
    """In the order of their first use: the converter's order follows Python's hash seed, so bytes would differ."""
    used = {name: position for position, name in enumerate(dict.fromkeys(n for node in graph.node for n in node.input))}
    graph.initializer.sort(key=lambda item: used.get(item.name, -1))
