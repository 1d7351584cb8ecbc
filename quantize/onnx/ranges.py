"""Ranges that calibration should not decide, for ONNX graphs: probabilities, masks and masked attention scores."""

from typing import Any

import onnx

from quantize.attention_scores import hides_padding, masked_range
from quantize.onnx.operators import SCORES
from quantize.ranges import CalibrationRanges

PROBABILITIES = (0.0, 1.0)


def with_fixed_ranges(model: onnx.ModelProto, ranges: CalibrationRanges) -> CalibrationRanges:
    """Results of Softmax are 0 to 1; a Softmax that reads an Add gets the range of `masked_range`.

    The same range goes to the scores that the Add reads.
    """
    graph = model.graph
    producers = {name: node for node in graph.node for name in node.output}
    readers: dict[str, int] = {}
    for node in graph.node:
        for name in node.input:
            readers[name] = readers.get(name, 0) + 1
    sizes = _last_axes(model)
    changes: dict[str, tuple[float, float]] = {}
    for softmax in graph.node:
        if softmax.op_type != "Softmax":
            continue
        changes[softmax.output[0]] = PROBABILITIES
        masked = softmax.input[0]
        add = producers.get(masked)
        if add is None or add.op_type != "Add" or masked not in ranges.row_peaks or not sizes.get(masked):
            continue
        scores = [n for n in add.input if n in producers and producers[n].op_type in SCORES and readers[n] == 1]
        if len(scores) != 1:
            continue
        added = _lowest(ranges, producers, next(name for name in add.input if name != scores[0]))
        changes[masked] = masked_range(ranges.ranges[masked], ranges.row_peaks[masked], sizes[masked], added)
        if hides_padding(added, changes[masked]):
            changes[scores[0]] = changes[masked]
    return ranges.override(changes)


def _lowest(ranges: CalibrationRanges, producers: dict[str, Any], name: str) -> float:
    """The smallest value of a tensor, before any moves."""
    while name not in ranges.ranges and name in producers:
        name = producers[name].input[0]
    return ranges.ranges.get(name, (0.0, 0.0))[0]


def _last_axes(model: onnx.ModelProto) -> dict[str, int]:
    """Size of the last axis where it is known."""
    values = onnx.shape_inference.infer_shapes(model).graph.value_info
    shapes = {value.name: value.type.tensor_type.shape.dim for value in values}
    return {name: shape[-1].dim_value for name, shape in shapes.items() if shape}
