import dataclasses

import pytest

from quantize.recipe import RECIPES, Recipe, get_recipe


def test_the_four_recipes_of_the_command_exist():
    assert list(RECIPES) == ["float32", "fp16", "int8-dynamic", "int8"]


def test_only_static_int8_needs_calibration():
    assert [name for name, recipe in RECIPES.items() if recipe.needs_calibration] == ["int8"]


@pytest.mark.parametrize(("name", "nearest"), [("int", "int8"), ("fp-16", "fp16"), ("int8-dyn", "int8-dynamic")])
def test_an_unknown_recipe_is_answered_with_the_nearest(name, nearest):
    with pytest.raises(ValueError, match=f"Received: '{name}'. Did you mean '{nearest}'\\?"):
        get_recipe(name)


def test_a_name_like_no_recipe_lists_them_all():
    with pytest.raises(ValueError, match="one of float32, fp16, int8-dynamic, int8") as error:
        get_recipe("zzz")
    assert "Did you mean" not in str(error.value)


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
