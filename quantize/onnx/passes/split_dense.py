"""Pass: a Gemm whose result is split into parts of different range becomes one Gemm for each part.

Requires a float graph and its calibrated ranges; why: `split_parts.py`. Then each Gemm with constant weights whose only
reader is a Split along the last axis, with parts whose ranges differ, is gone; the parts keep their names. Layers that
read the same weights are split together, as soon as one of them asks for it, and read the same parts.
"""

import numpy as np
import onnx

from quantize import split_parts
from quantize.onnx.conditions import in_order
from quantize.onnx.graph import add_constant, attribute, constants, readers, set_nodes, values
from quantize.ranges import CalibrationRanges
from quantize.rewrite import rewrite

# Names of the parts of constants that were cut before, by the constant, the axis and the sizes.
Cuts = dict[tuple[str, int, tuple[int, ...]], list[str]]


@rewrite(requires=(in_order,), ensures=(in_order,))
def split_dense(model: onnx.ModelProto, ranges: CalibrationRanges) -> int:
    """Edits the model in place; returns how many layers were split."""
    graph = model.graph
    known, read_by = constants(graph), readers(graph)
    uses: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        if node.op_type == "Gemm":
            uses.setdefault(node.input[1], []).append(node)
    chosen: dict[str, onnx.NodeProto] = {}
    for layers in uses.values():
        splits = {node.output[0]: _split(node, read_by, known) for node in layers}
        found = {name: split for name, split in splits.items() if split is not None}
        if len(found) == len(layers) and any(_differ(split, ranges) for split in found.values()):
            chosen |= found
    nodes: list[onnx.NodeProto] = []
    cuts: Cuts = {}
    for node in graph.node:
        if node.output[0] in chosen:
            nodes += _parts(graph, node, chosen[node.output[0]], known, cuts)
        elif node.op_type != "Split" or node.input[0] not in chosen:
            nodes.append(node)
    set_nodes(graph, nodes)
    return len(chosen)


def _split(
    dense: onnx.NodeProto, read_by: dict[str, list[onnx.NodeProto]], known: dict[str, onnx.TensorProto]
) -> onnx.NodeProto | None:
    """The node that splits what a Gemm makes, if nobody else reads it; None where the layer cannot be split."""
    found = read_by.get(dense.output[0], [])
    if len(found) != 1 or any(name not in known for name in dense.input[1:]):
        return None
    split = found[0]
    return split if split.op_type == "Split" and attribute(split, "axis", 0) in (-1, 1) else None


def _parts(
    graph: onnx.GraphProto,
    dense: onnx.NodeProto,
    split: onnx.NodeProto,
    known: dict[str, onnx.TensorProto],
    cuts: Cuts,
) -> list[onnx.NodeProto]:
    """One Gemm for each output of the split, on consecutive channels of the weights."""
    axis = 0 if attribute(dense, "transB", 0) else 1
    width = known[dense.input[1]].dims[axis]
    if len(split.input) > 1:
        sizes = values(known[split.input[1]]).tolist()
    else:
        sizes = [width // len(split.output)] * len(split.output)
    inputs = [[dense.input[0]] * len(sizes)]
    for name, place in zip(dense.input[1:], (axis, 0), strict=False):
        key = (name, place, tuple(sizes))
        if key not in cuts:
            parts = np.split(values(known[name]), np.cumsum(sizes)[:-1], place)
            cuts[key] = [
                add_constant(graph, f"{name}:{place}:{len(cuts)}:{number}", np.ascontiguousarray(part))
                for number, part in enumerate(parts)
            ]
        inputs.append(cuts[key])
    made = []
    for output, names in zip(split.output, zip(*inputs, strict=True), strict=True):
        part_node = onnx.NodeProto.FromString(dense.SerializeToString())
        part_node.input[:], part_node.output[:] = names, [output]
        made.append(part_node)
    return made


def _differ(split: onnx.NodeProto, ranges: CalibrationRanges) -> bool:
    return split_parts.differ(ranges.ranges[name] for name in split.output)
