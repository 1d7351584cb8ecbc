import dataclasses

import pytest

from quantize.errors import RecipeError
from quantize.onnx import quantizers as onnx
from quantize.recipe import RECIPES, entry
from quantize.tflite import quantizers as tflite


def test_the_recipes_of_the_command_exist():
    assert list(RECIPES) == ["float32", "fp16", "int4", "int8-dynamic", "int8", "int8-full"]


def test_only_static_int8_needs_calibration():
    assert [name for name, recipe in RECIPES.items() if recipe.needs_calibration] == ["int8", "int8-full"]


@pytest.mark.parametrize("field", ["atol", "rtol", "batch_atol"])
def test_a_recipe_with_a_negative_tolerance_is_refused(field):
    with pytest.raises(ValueError, match=field):
        dataclasses.replace(RECIPES["float32"], **{field: -1.0})


def test_tflite_has_a_quantizer_for_every_recipe_and_onnx_for_all_but_the_one_without_float():
    assert list(tflite.QUANTIZERS) == list(RECIPES)
    assert list(onnx.QUANTIZERS) == [name for name in RECIPES if name != "int8-full"]


def test_a_recipe_that_a_format_lacks_is_an_error_that_names_both():
    with pytest.raises(RecipeError, match=r"tflite.*float32.*'int2'"):
        entry(tflite.QUANTIZERS, "int2", format_name="tflite")


def test_a_static_recipe_without_ranges_is_refused_in_every_format():
    for table in (tflite.QUANTIZERS, onnx.QUANTIZERS):
        with pytest.raises(ValueError, match="calibration"):
            table["int8"](None, None)
