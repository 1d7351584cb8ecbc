"""What stands in padding, and how long it is, moves no answer of a PoWER-BERT file: tokens are ranked without it."""

import numpy as np
import pytest

from quantize.recipe import FLOAT_RTOL
from quantize.tflite.calibrate import calibrate
from quantize.tflite.static import quantize_static
from support import power_files, tiny_encoders
from support.power_files import CONFIGS, LENGTH

every_variant = pytest.mark.parametrize("name", CONFIGS)
# Short rows, too: with fewer tokens than a layer keeps, padding goes on with them.
VALUES = tiny_encoders.inputs(24, seed=9)
LONGER = 24


def other_padding(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(3)
    padding = 1 - values["mask"]
    ids = values["ids"] + padding * generator.integers(1, tiny_encoders.VOCABULARY, padding.shape)
    segments = values["segments"] + padding * generator.integers(0, 2, padding.shape)
    return {"ids": ids.astype(np.int32), "mask": values["mask"], "segments": segments.astype(np.int32)}


def longer(values: dict[str, np.ndarray], length: int) -> dict[str, np.ndarray]:
    return {name: np.pad(array, ((0, 0), (0, length - array.shape[1]))) for name, array in values.items()}


def test_the_rows_have_more_and_fewer_tokens_than_are_kept():
    tokens = VALUES["mask"].sum(1)
    assert tokens.min() < power_files.KEPT[1] < power_files.KEPT[0] < tokens.max()


@pytest.mark.parametrize("recipe", ["float32", "int8"])
@every_variant
def test_padding_moves_no_answer_of_a_tflite_file(name, recipe):
    content = power_files.files(name).tflite(recipe)
    clean, changed = (
        tiny_encoders.run_tflite(content, values, raw=True)["logits"] for values in (VALUES, other_padding(VALUES))
    )
    if recipe == "float32":
        np.testing.assert_array_equal(clean, changed)
    else:  # as for BERT: one step
        assert clean.dtype == np.int8
        assert np.abs(clean.astype(int) - changed).max() <= 1


@pytest.mark.parametrize("recipe", ["float32", "int8"])
@every_variant
def test_padding_moves_no_answer_of_an_onnx_file(name, recipe):
    model = power_files.files(name).onnx(recipe)
    clean, changed = (tiny_encoders.run_onnx(model, values)["logits"] for values in (VALUES, other_padding(VALUES)))
    if recipe == "float32":
        np.testing.assert_array_equal(clean, changed)
    else:  # the answers are float here; a step is what int8 would give their range
        step = (clean.max() - clean.min()) / 255
        assert np.abs(clean - changed).max() <= 1.001 * step


@every_variant
def test_how_long_the_padding_is_does_not_matter(name):
    """A text of at most 16 tokens, in a file for 16 and in one for 24 tokens."""
    short = tiny_encoders.run_tflite(power_files.files(name).float_tflite, VALUES)["logits"]
    long = tiny_encoders.run_tflite(power_files.files(name, LONGER).float_tflite, longer(VALUES, LONGER))["logits"]
    np.testing.assert_allclose(long, short, rtol=0, atol=FLOAT_RTOL * np.abs(short).max())


def test_a_mask_that_no_calibration_row_has_shown_still_hides_padding():
    """Ranges from rows without padding: the mask's are computed, also where rows of it are picked."""
    content = power_files.files("significance").float_tflite
    full = tiny_encoders.inputs(32, shortest=LENGTH)
    assert full["mask"].all()
    int8 = quantize_static(content, calibrate(content, tiny_encoders.rows(full)))
    clean, changed = (
        tiny_encoders.run_tflite(int8, values, raw=True)["logits"].astype(int)
        for values in (VALUES, other_padding(VALUES))
    )
    assert np.abs(clean - changed).max() <= 1
    wanted = power_files.activations("significance", VALUES).outputs["logits"].numpy()
    assert np.corrcoef(clean.ravel(), wanted.ravel())[0, 1] > 0.95
