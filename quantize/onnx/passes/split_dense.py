"""Pass: the counterpart of `split_dense` for ONNX: a Gemm whose result is split becomes one Gemm for each part.

Requires: a float graph and its calibrated ranges. Ensures: each Gemm with constant weights whose only reader is a Split
along the last axis, with parts whose ranges differ by more than `RATIO`, is gone; the parts keep their names. Layers that
read the same weights are split together, as soon as one of them asks for it, and read the same parts.
"""

import numpy as np
import onnx

from quantize.ranges import CalibrationRanges
from quantize.tflite.passes.split_dense import RATIO


def split_dense(model: onnx.ModelProto, ranges: CalibrationRanges) -> int:
    """Edits the model in place; the number of layers that were split."""
    graph = model.graph
    constants = {item.name: item for item in graph.initializer}
    readers: dict[str, list[onnx.NodeProto]] = {}
    uses: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
        if node.op_type == "Gemm":
            uses.setdefault(node.input[1], []).append(node)
    chosen: dict[str, onnx.NodeProto] = {}
    for layers in uses.values():
        splits = {node.output[0]: _split(node, readers, constants) for node in layers}
        found = {name: split for name, split in splits.items() if split is not None}
        if len(found) == len(layers) and any(_differ(split, ranges) for split in found.values()):
            chosen |= found
    nodes: list[onnx.NodeProto] = []
    cuts: dict[tuple[str, int, tuple[int, ...]], list[str]] = {}
    for node in graph.node:
        if node.output[0] in chosen:
            nodes += _parts(graph, node, chosen[node.output[0]], constants, cuts)
        elif node.op_type != "Split" or node.input[0] not in chosen:
            nodes.append(node)
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)
    return len(chosen)


def _split(
    dense: onnx.NodeProto, readers: dict[str, list[onnx.NodeProto]], constants: dict[str, onnx.TensorProto]
) -> onnx.NodeProto | None:
    """The operator that splits what a Gemm makes, if nobody else reads it; None where the layer cannot be split."""
    found = readers.get(dense.output[0], [])
    if len(found) != 1 or any(name not in constants for name in dense.input[1:]):
        return None
    split = found[0]
    return split if split.op_type == "Split" and _attribute(split, "axis", 0) in (-1, 1) else None


def _parts(
    graph: onnx.GraphProto,
    dense: onnx.NodeProto,
    split: onnx.NodeProto,
    constants: dict[str, onnx.TensorProto],
    cuts: dict[tuple[str, int, tuple[int, ...]], list[str]],
) -> list[onnx.NodeProto]:
    """`cuts`: names of the parts of constants that were cut before, by that which was cut, the axis and the sizes."""
    axis = 0 if _attribute(dense, "transB", 0) else 1
    width = constants[dense.input[1]].dims[axis]
    if len(split.input) > 1:
        sizes = onnx.numpy_helper.to_array(constants[split.input[1]]).tolist()
    else:
        sizes = [width // len(split.output)] * len(split.output)
    inputs = [[dense.input[0]] * len(sizes)]
    for name, place in zip(dense.input[1:], (axis, 0), strict=False):
        key = (name, place, tuple(sizes))
        if key not in cuts:
            values = np.split(onnx.numpy_helper.to_array(constants[name]), np.cumsum(sizes)[:-1], place)
            cuts[key] = [f"{name}:{place}:{len(cuts)}:{number}" for number in range(len(values))]
            graph.initializer.extend(
                onnx.numpy_helper.from_array(np.ascontiguousarray(part), part_name)
                for part, part_name in zip(values, cuts[key], strict=True)
            )
        inputs.append(cuts[key])
    made = []
    for output, names in zip(split.output, zip(*inputs, strict=True), strict=True):
        part_node = onnx.NodeProto.FromString(dense.SerializeToString())
        part_node.input[:], part_node.output[:] = names, [output]
        made.append(part_node)
    return made


def _differ(split: onnx.NodeProto, ranges: CalibrationRanges) -> bool:
    found = [ranges.ranges[name] for name in split.output]
    widths = [max(high, 0.0) - min(low, 0.0) for low, high in found]
    return max(widths) > RATIO * min(widths)


def _attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((int(item.i) for item in node.attribute if item.name == name), default)
