import dataclasses

import pytest

from quantize.recipe import RECIPES, Recipe


def test_the_four_recipes_of_the_command_exist():
    assert list(RECIPES) == ["float32", "fp16", "int8-dynamic", "int8"]


def test_only_static_int8_needs_calibration():
    assert [name for name, recipe in RECIPES.items() if recipe.needs_calibration] == ["int8"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight_bits": 4}, "weight_bits"),
        ({"activations": "int4"}, "activations"),
        ({"needs_calibration": False}, "calibration"),
    ],
)
def test_a_recipe_that_contradicts_itself_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Recipe(**{**dataclasses.asdict(RECIPES["int8"]), **change})
