"""Static int8 for TFLite: int8 activations by calibrated ranges, symmetric int8 weights for each output channel.

ai-edge-quantizer does the arithmetic (scales, biases, operator constraints); the ranges are ours, since its own
calibration is a moving average that clips. An int8 input of whole numbers is exact: scale 1, zero point 0.
Leaves out calibration (`calibration.py`) and the check of the result (`exporters/audit.py`).
"""

import warnings

import numpy as np

from quantize.calibration import CalibrationRanges
from quantize.flatbuffer import op_name, read_model, schema, tensor_name, write_model
from quantize.passes.compact import compact
from quantize.passes.elide_input_cast import elide_input_cast
from quantize.passes.set_versions import set_versions

INT8_RANGE = (-128.0, 127.0)


def quantize_static(float_model: bytes, ranges: CalibrationRanges) -> bytes:
    """A compact int8 model; int8 inputs stay exact, the outputs are int8 with a scale of their own."""
    from ai_edge_quantizer import quantizer, recipe

    casts = _cast_inputs(float_model)
    ranges = ranges.override(dict.fromkeys(casts, INT8_RANGE))
    values = {
        name: {"min": np.array(low, np.float32), "max": np.array(high, np.float32)}
        for name, (low, high) in ranges.ranges.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # its interpreter keeps all tensors, which the runtime remarks on
        engine = quantizer.Quantizer(float_model, recipe.static_wi8_ai8())
        result = engine.quantize(values, enable_progress_bar=False, enable_progress_report=False)
    if result.quantized_model is None:
        raise RuntimeError("ai-edge-quantizer returned no model.")
    model = read_model(bytes(result.quantized_model))
    elide_input_cast(model)
    set_versions(model)
    compact(model)
    return write_model(model)


def _cast_inputs(float_model: bytes) -> list[str]:
    """Names of the tensors that are an int8 input in float form."""
    model = read_model(float_model)
    graph = model.subgraphs[0]
    inputs = {int(i) for i in graph.inputs if graph.tensors[i].type == schema.TensorType.INT8}
    return [
        tensor_name(graph.tensors[operator.outputs[0]])
        for operator in graph.operators
        if op_name(model, operator) == "CAST" and int(operator.inputs[0]) in inputs
    ]
