"""Static int8 for TFLite: int8 activations by calibrated ranges, symmetric int8 weights for each output channel.

ai-edge-quantizer does the arithmetic (scales, biases, operator constraints); the ranges are ours, since its own
calibration is a moving average that clips. An int8 input of whole numbers is exact: scale 1, zero point 0.
Leaves out calibration (`calibration.py`) and the check of the result (`exporters/audit.py`).
"""

import warnings

import numpy as np

from quantize.calibration import CalibrationRanges
from quantize.flatbuffer import read_model, write_model
from quantize.passes.compact import compact
from quantize.passes.elide_input_cast import elide_input_cast
from quantize.passes.elide_requantize import elide_requantize
from quantize.passes.set_versions import set_versions
from quantize.passes.split_dense import split_dense
from quantize.tflite_ranges import with_exact_masks, with_saturated_scores


def quantize_static(float_model: bytes, ranges: CalibrationRanges) -> bytes:
    """A compact int8 model; integer inputs stay exact, the outputs are int8 with a scale of their own."""
    from ai_edge_quantizer import quantizer, recipe

    model = read_model(float_model)
    ranges = with_saturated_scores(model, with_exact_masks(model, ranges))
    if split_dense(model, ranges):
        float_model = write_model(model)
    del model
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
    elide_requantize(model)
    set_versions(model)
    compact(model)
    return write_model(model)
