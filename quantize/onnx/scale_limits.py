"""Which scales the kernels of ONNX Runtime take: positive numbers of float32 in full precision.

Its integer kernels multiply with ratios of scales in float, so any ratio will do; but a scale of zero, one that is
denormal, infinite or NaN makes answers of nothing. Checked on every quantized model before it is written.
"""

from collections.abc import Iterator

import numpy as np
import onnx

from quantize.errors import RecipeError
from quantize.onnx.graph import constants, values

# Operator -> position of its scale.
SCALES = {"QuantizeLinear": 1, "DequantizeLinear": 1}
_FLOAT32 = np.finfo(np.float32)


def check_scales(model: onnx.ModelProto) -> None:
    """Refuses a model with a scale that the runtime does not take; the line names tensor and scale."""
    for problem in problems(model):
        raise RecipeError(problem)


def problems(model: onnx.ModelProto) -> Iterator[str]:
    """What is wrong, a line each."""
    known = constants(model.graph)
    for node in model.graph.node:
        if node.op_type not in SCALES or node.input[SCALES[node.op_type]] not in known:
            continue
        scales = values(known[node.input[SCALES[node.op_type]]]).reshape(-1)
        odd = scales[~((scales >= _FLOAT32.tiny) & (scales <= _FLOAT32.max))]
        if odd.size:
            name = node.input[0] if node.op_type == "QuantizeLinear" else node.output[0]
            yield (
                f"The values of tensor {name!r} are too extreme for 8 bits: expected scales from "
                f"{_FLOAT32.tiny:.1e} to {_FLOAT32.max:.1e}. Received: {odd[0]:g}."
            )
