"""Pass: the counterpart of `split_dense` for ONNX: a Gemm whose result is split becomes one Gemm for each part.

Requires: a float graph and its calibrated ranges. Ensures: each Gemm with constant weights whose only reader is a Split
along the last axis, with parts whose ranges differ by more than `RATIO`, is gone; the parts keep their names.
"""

import numpy as np
import onnx

from quantize.calibration import CalibrationRanges
from quantize.passes.split_dense import RATIO


def split_dense_onnx(model: onnx.ModelProto, ranges: CalibrationRanges) -> int:
    """Edits the model in place; the number of layers that were split."""
    graph = model.graph
    constants = {item.name: item for item in graph.initializer}
    readers: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    nodes: list[onnx.NodeProto] = []
    done: set[str] = set()
    for node in graph.node:
        split = readers.get(node.output[0], [node])[0]
        if node.op_type == "Split" and node.input[0] in done:
            continue
        if (
            node.op_type != "Gemm"
            or split.op_type != "Split"
            or len(readers[node.output[0]]) != 1
            or any(name not in constants for name in node.input[1:])
            or _attribute(split, "axis", 0) not in (-1, 1)
            or not _differ(split, ranges)
        ):
            nodes.append(node)
            continue
        nodes += _parts(graph, node, split, constants)
        done.add(node.output[0])
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)
    return len(done)


def _parts(
    graph: onnx.GraphProto, dense: onnx.NodeProto, split: onnx.NodeProto, constants: dict[str, onnx.TensorProto]
) -> list[onnx.NodeProto]:
    weights, *biases = (onnx.numpy_helper.to_array(constants[name]) for name in dense.input[1:])
    axis = 0 if _attribute(dense, "transB", 0) else 1
    if len(split.input) > 1:
        sizes = onnx.numpy_helper.to_array(constants[split.input[1]]).tolist()
    else:
        sizes = [weights.shape[axis] // len(split.output)] * len(split.output)
    cuts = np.cumsum(sizes)[:-1]
    made = []
    for number, name in enumerate(split.output):
        inputs = [dense.input[0]]
        for place, values in ((axis, weights), *((0, bias) for bias in biases)):
            inputs.append(f"{name}:{len(inputs)}")
            part = np.ascontiguousarray(np.split(values, cuts, place)[number])
            graph.initializer.append(onnx.numpy_helper.from_array(part, inputs[-1]))
        part_node = onnx.NodeProto.FromString(dense.SerializeToString())
        part_node.input[:], part_node.output[:] = inputs, [name]
        made.append(part_node)
    return made


def _differ(split: onnx.NodeProto, ranges: CalibrationRanges) -> bool:
    found = [ranges.ranges[name] for name in split.output]
    widths = [max(high, 0.0) - min(low, 0.0) for low, high in found]
    return max(widths) > RATIO * min(widths)


def _attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((int(item.i) for item in node.attribute if item.name == name), default)
