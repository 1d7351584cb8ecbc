"""Ranges that calibration should not decide, for ONNX graphs: probabilities.

Attention scores and what masks them need none: they are computed in float (`regions.py`).
"""

import onnx

from quantize.ranges import CalibrationRanges

PROBABILITIES = (0.0, 1.0)


def with_fixed_ranges(model: onnx.ModelProto, ranges: CalibrationRanges) -> CalibrationRanges:
    """Results of Softmax are 0 to 1."""
    found = {node.output[0] for node in model.graph.node if node.op_type == "Softmax"}
    return ranges.override(dict.fromkeys(found, PROBABILITIES))
