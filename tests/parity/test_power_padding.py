"""What stands in padding, and how long it is, moves no answer of a PoWER-BERT file: tokens are ranked without it."""

import numpy as np
import pytest

from quantize.recipe import FLOAT_RTOL
from quantize.tflite.calibrate import calibrate
from quantize.tflite.static import quantize_static
from support import tiny_files
from support.tiny_models import KEPT, LENGTH, POWER

every_variant = pytest.mark.parametrize("name", POWER)
# Short rows, too: with fewer tokens than a layer keeps, padding goes on with them.
VALUES = tiny_files.inputs(24, seed=9)
LONGER = 24


def longer(values: dict[str, np.ndarray], length: int) -> dict[str, np.ndarray]:
    return {name: np.pad(array, ((0, 0), (0, length - array.shape[1]))) for name, array in values.items()}


def test_the_rows_have_more_and_fewer_tokens_than_are_kept():
    tokens = VALUES["mask"].sum(1)
    assert tokens.min() < KEPT[1] < KEPT[0] < tokens.max()


@pytest.mark.parametrize("recipe", ["float32", "int8"])
@every_variant
def test_padding_moves_no_answer_of_a_tflite_file(name, recipe):
    content = tiny_files.files(name).tflite(recipe)
    clean, changed = (
        tiny_files.run_tflite(content, values, raw=True)["logits"]
        for values in (VALUES, tiny_files.other_padding(VALUES))
    )
    if recipe == "float32":
        np.testing.assert_array_equal(clean, changed)
    else:  # as for BERT: one step
        assert clean.dtype == np.int8
        assert np.abs(clean.astype(int) - changed).max() <= 1


@pytest.mark.parametrize("recipe", ["float32", "int8"])
@every_variant
def test_padding_moves_no_answer_of_an_onnx_file(name, recipe):
    model = tiny_files.files(name).onnx(recipe)
    clean, changed = (
        tiny_files.run_onnx(model, values)["logits"] for values in (VALUES, tiny_files.other_padding(VALUES))
    )
    if recipe == "float32":
        np.testing.assert_array_equal(clean, changed)
    else:  # the answers are float here; a step is what int8 would give their range
        step = (clean.max() - clean.min()) / 255
        assert np.abs(clean - changed).max() <= 1.001 * step


@pytest.mark.slow
@every_variant
def test_how_long_the_padding_is_does_not_matter(name):
    """A text of at most 16 tokens, in a file for 16 and in one for 24 tokens."""
    short = tiny_files.run_tflite(tiny_files.files(name).float_tflite, VALUES)["logits"]
    long = tiny_files.run_tflite(tiny_files.files(name, length=LONGER).float_tflite, longer(VALUES, LONGER))["logits"]
    np.testing.assert_allclose(long, short, rtol=0, atol=FLOAT_RTOL * np.abs(short).max())


def test_a_mask_that_no_calibration_row_has_shown_still_hides_padding():
    """Ranges from rows without padding: the mask's are computed, also where rows of it are picked."""
    content = tiny_files.files("significance").float_tflite
    full = tiny_files.inputs(32, shortest=LENGTH)
    assert full["mask"].all()
    int8 = quantize_static(content, calibrate(content, tiny_files.single_rows(full)))
    clean, changed = (
        tiny_files.run_tflite(int8, values, raw=True)["logits"].astype(int)
        for values in (VALUES, tiny_files.other_padding(VALUES))
    )
    assert np.abs(clean - changed).max() <= 1
    wanted = tiny_files.activations("significance", VALUES).outputs["logits"].numpy()
    assert np.corrcoef(clean.ravel(), wanted.ravel())[0, 1] > 0.95
