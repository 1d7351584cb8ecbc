"""Pass: inputs of dense layers get channels of similar range, so that one 8-bit scale serves them all.

Only inputs: what a dense layer gives to a float region is not rounded in ONNX. A Mul by the inverse factors stands in
front of the layers that read a tensor; their weights take up the factors (how they are chosen: `channel_factors.py`).
Layers that read the same weights get the same factors, so that they still do. An input that another dense layer makes,
as ALBERT's first layer has it, comes out of that one with its factors.

Requires a float graph with equal constants stored once (`compact.py`) and ranges with channels. The function in float
stays the same. Each input of a Gemm, or of a MatMul with constant weights, that a float region makes (`regions.py`) is
leveled, if all inputs of the layers that share weights with it can be; the new tensors have ranges.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import onnx

from quantize.arrays import Array
from quantize.channel_factors import connected, divided_range, input_factors
from quantize.onnx.conditions import in_order
from quantize.onnx.graph import attribute, constants, producers, readers, set_nodes, values
from quantize.onnx.operators import BIAS, DENSE, MOVES
from quantize.onnx.regions import float_region
from quantize.ranges import CalibrationRanges
from quantize.rewrite import rewrite


@rewrite(requires=(in_order,), ensures=(in_order,))
def level_dense(model: onnx.ModelProto, ranges: CalibrationRanges) -> CalibrationRanges:
    """Edits the model in place; returns the ranges, with those of the new tensors added."""
    return _Leveler(model.graph, ranges).run()


class _Leveler:
    """One run over a graph. Nodes are told apart by the name of their result."""

    def __init__(self, graph: onnx.GraphProto, ranges: CalibrationRanges) -> None:
        self._graph, self._ranges = graph, ranges
        self._weights = {item.name: item for item in graph.initializer if len(item.dims) == 2}
        self._constants = constants(graph)
        self._region = {graph.node[position].output[0] for position in float_region(graph.node)}
        self._in_float = _made_in_float(graph)
        self._producers, self._readers = producers(graph), readers(graph)
        self._outputs = {value.name for value in graph.output}
        self._alone: set[str] = set()  # results of dense layers whose weights nothing else reads
        self._front: dict[str, list[onnx.NodeProto]] = {}
        self._behind: dict[str, onnx.NodeProto] = {}
        self._found: dict[str, tuple[float, float]] = {}

    def run(self) -> CalibrationRanges:
        uses: dict[tuple[str, int], list[onnx.NodeProto]] = {}
        for node in self._graph.node:
            if node.op_type in DENSE and node.input[1] in self._weights:
                uses.setdefault((node.input[1], _channel_axis(node)), []).append(node)
        # Weights that something else reads too stay as they are.
        groups = [nodes for (name, _), nodes in uses.items() if len(nodes) == len(self._readers[name])]
        self._alone = {nodes[0].output[0] for nodes in groups if len(nodes) == 1}
        order = {node.output[0]: position for position, node in enumerate(self._graph.node)}
        for nodes in connected(groups, lambda node: node.input[0]):
            self._level(sorted(nodes, key=lambda node: order[node.output[0]]))
        ordered = [
            made
            for node in self._graph.node
            for made in (*self._front.get(node.output[0], ()), node, self._behind.get(node.output[0]))
            if made is not None
        ]
        set_nodes(self._graph, ordered)
        return dataclasses.replace(self._ranges, ranges={**self._ranges.ranges, **self._found})

    def _level(self, nodes: Sequence[onnx.NodeProto]) -> None:
        """`nodes` are all that share inputs or weights with each other."""
        sources = list(dict.fromkeys(node.input[0] for node in nodes))
        known = [name for name in sources if name in self._ranges.channels]
        in_float = [name for name in known if name in self._in_float]
        others = [name for name in known if name not in self._in_float and self._is_made_by_dense(name, nodes)]
        # Without a region there is nothing to level for: an encoder without layer norms is in integers throughout.
        if not in_float or len(in_float) + len(others) < len(sources):
            return
        channels = {name: self._ranges.channels[name] for name in sources}
        axes = {node.input[1]: _channel_axis(node) for node in nodes}
        weights = {name: self._values(name) for name in axes}
        peaks = [np.abs(weights[name]).max(axis=1 - axis) for name, axis in axes.items()]
        factors = input_factors(list(channels.values()), np.max(peaks, axis=0))
        leveled = {name: f"{name}:level" for name in sources}
        self._found |= {leveled[name]: divided_range(channels[name], factors) for name in sources}
        inverse = self._add(f"{leveled[sources[0]]}:factors", 1 / factors)
        for name in in_float:
            # In front of the first reader; the others come later, for the graph is in order.
            first = next(node for node in nodes if node.input[0] == name).output[0]
            product = onnx.helper.make_node("Mul", [name, inverse], [leveled[name]])
            self._front.setdefault(first, []).append(product)
        for name in others:
            self._divide_result(self._producers[name], factors, leveled[name])
        new = {}
        for number, (name, axis) in enumerate(axes.items()):
            scaled = weights[name] * (factors[:, None] if axis == 0 else factors)
            new[name] = self._add(f"{leveled[sources[0]]}:{number}", scaled)
        for node in nodes:
            node.input[0], node.input[1] = leveled[node.input[0]], new[node.input[1]]

    def _is_made_by_dense(self, name: str, nodes: Sequence[onnx.NodeProto]) -> bool:
        """Whether one dense layer makes it, with weights of its own, for these nodes and the float region."""
        maker, own = self._producers.get(name), {node.output[0] for node in nodes}
        return (
            maker is not None
            and name in self._alone - own
            and name not in self._outputs
            and all(bias in self._constants for bias in maker.input[BIAS:])
            and all(reader.output[0] in self._region | own for reader in self._readers[name])
        )

    def _divide_result(self, node: onnx.NodeProto, factors: Array, leveled: str) -> None:
        """Divides weights and bias of a layer, which then makes `leveled`, and multiplies again behind it."""
        name = node.output[0]
        by_rows = _channel_axis(node) == 1
        kernel = self._values(node.input[1]) / (factors[:, None] if by_rows else factors)
        node.input[1] = self._add(f"{leveled}:kernel", kernel)
        if len(node.input) > BIAS:
            node.input[BIAS] = self._add(f"{leveled}:bias", self._values(node.input[BIAS]) / factors)
        back = self._add(f"{leveled}:back", factors)
        node.output[0] = leveled
        self._behind[leveled] = onnx.helper.make_node("Mul", [leveled, back], [name])
        # It may have been given a product in front of it under its old name.
        if name in self._front:
            self._front[leveled] = self._front.pop(name)

    def _values(self, name: str) -> Array:
        return values(self._constants[name]).astype(np.float64)

    def _add(self, name: str, numbers: Array) -> str:
        item = onnx.numpy_helper.from_array(numbers.astype(np.float32), name)
        self._graph.initializer.append(item)
        self._constants[name] = item
        return name


def _made_in_float(graph: onnx.GraphProto) -> set[str]:
    """What the operators of float regions make, and what holds it in another shape or order."""
    region = float_region(graph.node)
    found: set[str] = set()
    for position, node in enumerate(graph.node):
        if position in region or (node.op_type in MOVES and node.input[0] in found):
            found.update(node.output)
    return found


def _channel_axis(node: onnx.NodeProto) -> int:
    """Axis of the input's channels in the weights."""
    return 1 if attribute(node, "transB", 0) else 0
