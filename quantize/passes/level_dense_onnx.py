"""Pass: the counterpart of `level_dense` for ONNX: inputs of dense layers get channels of like range.

Only inputs: what a dense layer gives to a float region is not rounded in ONNX. A Mul by the inverse factors stands in front
of the layers that read a tensor; their weights take up the factors.
Requires: a float graph and ranges with channels. Ensures: the same function in float; each input of a Gemm, or of a MatMul
with constant weights, that a float region makes (`onnx_regions.py`), is leveled; ranges of the new tensors.
"""

import dataclasses

import numpy as np
import onnx

from quantize.calibration import CalibrationRanges
from quantize.channel_factors import divided_range, input_factors
from quantize.onnx_regions import MOVES, float_region

_DENSE = ("Gemm", "MatMul")


def level_dense_onnx(model: onnx.ModelProto, ranges: CalibrationRanges) -> CalibrationRanges:
    """Edits the model in place; the ranges with those of the tensors that it gained."""
    graph = model.graph
    weights = {item.name: item for item in graph.initializer if len(item.dims) == 2}
    readers: dict[str, list[onnx.NodeProto]] = {}
    made = _made_in_float(graph)
    for node in graph.node:
        dense = node.op_type in _DENSE and node.input[1] in weights
        if dense and node.input[0] in made and node.input[0] in ranges.channels:
            readers.setdefault(node.input[0], []).append(node)
    found: dict[str, tuple[float, float]] = {}
    products: dict[str, onnx.NodeProto] = {}
    for name, nodes in readers.items():
        channels, leveled = ranges.channels[name], f"{name}:level"
        values = [onnx.numpy_helper.to_array(weights[node.input[1]]).astype(np.float64) for node in nodes]
        axes = [_channel_axis(node) for node in nodes]
        peaks = [np.abs(value).max(axis=1 - axis) for value, axis in zip(values, axes, strict=True)]
        factors = input_factors(channels, np.max(peaks, axis=0))
        inverse = _add(graph, f"{leveled}:factors", 1 / factors)
        # In front of the first reader; the others come later, for the graph is in order.
        products[nodes[0].output[0]] = onnx.helper.make_node("Mul", [name, inverse], [leveled])
        for number, (node, value, axis) in enumerate(zip(nodes, values, axes, strict=True)):
            scaled = value * (factors[:, None] if axis == 0 else factors)
            node.input[0], node.input[1] = leveled, _add(graph, f"{leveled}:{number}", scaled)
        found[leveled] = divided_range(channels, factors)
    ordered = [made for node in graph.node for made in (products.get(node.output[0]), node) if made is not None]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in ordered]
    del graph.node[:]
    graph.node.extend(copies)
    return dataclasses.replace(ranges, ranges={**ranges.ranges, **found})


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
    return 1 if any(item.name == "transB" and item.i for item in node.attribute) else 0


def _add(graph: onnx.GraphProto, name: str, values: np.ndarray) -> str:
    graph.initializer.append(onnx.numpy_helper.from_array(values.astype(np.float32), name))
    return name
