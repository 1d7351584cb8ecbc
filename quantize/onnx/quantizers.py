"""The recipes of ONNX: a table from the recipe's name to a function from a float model and its ranges to a model.

A new recipe is a row in `quantize/recipe.py` and one entry here. Ranges are None for a recipe without calibration.
"""

from collections.abc import Callable
from typing import TypeAlias

import onnx

from quantize.onnx.dynamic import to_int8_dynamic
from quantize.onnx.int4 import to_int4
from quantize.onnx.static import quantize_static
from quantize.onnx.weights import to_float16, to_float32
from quantize.ranges import CalibrationRanges, required

Quantizer: TypeAlias = Callable[[onnx.ModelProto, CalibrationRanges | None], onnx.ModelProto]

QUANTIZERS: dict[str, Quantizer] = {
    "float32": lambda model, _: to_float32(model),
    "fp16": lambda model, _: to_float16(model),
    "int4": lambda model, _: to_int4(model),
    "int8-dynamic": lambda model, _: to_int8_dynamic(model),
    "int8": lambda model, ranges: quantize_static(model, required(ranges)),
}
