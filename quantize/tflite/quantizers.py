"""The recipes of TFLite: a table from the recipe's name to a function from a float file and its ranges to a file.

A new recipe is a row in `quantize/recipe.py` and one entry here. Ranges are None for a recipe without calibration.
"""

from collections.abc import Callable
from typing import TypeAlias

from quantize.ranges import CalibrationRanges, required
from quantize.tflite.int4 import to_int4
from quantize.tflite.static import quantize_full, quantize_static
from quantize.tflite.weights import to_float16, to_float32, to_int8_dynamic

Quantizer: TypeAlias = Callable[[bytes, CalibrationRanges | None], bytes]

QUANTIZERS: dict[str, Quantizer] = {
    "float32": lambda model, _: to_float32(model),
    "fp16": lambda model, _: to_float16(model),
    "int4": lambda model, _: to_int4(model),
    "int8-dynamic": lambda model, _: to_int8_dynamic(model),
    "int8": lambda model, ranges: quantize_static(model, required(ranges)),
    "int8-full": lambda model, ranges: quantize_full(model, required(ranges)),
}
