"""Ranges that calibration should not decide, for ONNX graphs: probabilities, masks and masked attention scores."""

import onnx

from quantize.attention_scores import hides_padding, masked_range
from quantize.onnx.graph import longest, producers, readers
from quantize.onnx.operators import SCORES
from quantize.ranges import CalibrationRanges

PROBABILITIES = (0.0, 1.0)


def with_fixed_ranges(model: onnx.ModelProto, ranges: CalibrationRanges) -> CalibrationRanges:
    """Results of Softmax are 0 to 1; a Softmax that reads an Add gets the range of `masked_range`.

    The same range goes to the scores that the Add reads.
    """
    graph = model.graph
    made_by, read_by = producers(graph), readers(graph)
    sizes = _last_axes(model)
    changes: dict[str, tuple[float, float]] = {}
    for softmax in graph.node:
        if softmax.op_type != "Softmax":
            continue
        changes[softmax.output[0]] = PROBABILITIES
        masked = softmax.input[0]
        add = made_by.get(masked)
        if add is None or add.op_type != "Add" or masked not in ranges.row_peaks or not sizes.get(masked):
            continue
        scores = [n for n in add.input if n in made_by and made_by[n].op_type in SCORES and len(read_by[n]) == 1]
        if len(scores) != 1:
            continue
        added = _lowest(ranges, made_by, next(name for name in add.input if name != scores[0]))
        changes[masked] = masked_range(ranges.ranges[masked], ranges.row_peaks[masked], sizes[masked], added)
        if hides_padding(added, changes[masked]):
            changes[scores[0]] = changes[masked]
    return ranges.override(changes)


def _lowest(ranges: CalibrationRanges, made_by: dict[str, onnx.NodeProto], name: str) -> float:
    """The smallest value of a tensor, before any moves."""
    while name not in ranges.ranges and name in made_by:
        name = made_by[name].input[0]
    return ranges.ranges.get(name, (0.0, 0.0))[0]


def _last_axes(model: onnx.ModelProto) -> dict[str, int]:
    """Size of the last axis where it is known; of an open one the largest, if the model says that."""
    values = onnx.shape_inference.infer_shapes(model).graph.value_info
    shapes = {value.name: value.type.tensor_type.shape.dim for value in values}
    return {name: shape[-1].dim_value or longest(model) for name, shape in shapes.items() if shape}
