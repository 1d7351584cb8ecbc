"""Numbers of recipe int4: scales of blocks and rows, packed bytes, and the share of weights that it asks for."""

import numpy as np
import pytest

from quantize.errors import RecipeError
from quantize.int4 import BLOCK, HIGH, check_share, is_dense_fit, is_table_fit, pack, quantize_blocks, quantize_rows
from quantize.onnx.int4 import together


def dequantized(integers, scales):
    blocks = integers.reshape(len(integers), -1, integers.shape[1] // scales.shape[1])
    return (blocks * scales[..., None]).reshape(integers.shape)


def test_a_row_of_whole_steps_is_exact():
    steps = np.tile(np.arange(-HIGH, HIGH + 1, dtype=np.float32), (3, 4))
    factors = np.array([0.5, 0.25, 2.0], np.float32)[:, None]
    integers, scales = quantize_rows(steps * factors)
    np.testing.assert_array_equal(integers, steps)
    np.testing.assert_allclose(scales, factors[:, 0], rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("quantize", "low", "width"), [(quantize_blocks, -8, BLOCK), (quantize_rows, -7, 4 * BLOCK)])
def test_scales_round_less_than_those_of_the_largest_weights(quantize, low, width, seed):
    weights = np.random.default_rng(seed).standard_t(3, (16, 4 * BLOCK)).astype(np.float32)
    integers, scales = quantize(weights)
    assert integers.dtype == np.int8
    assert low <= integers.min() < integers.max() == HIGH
    error = np.square(dequantized(integers, scales.reshape(16, -1)) - weights).reshape(16, -1, width).sum(-1)
    blocks = weights.reshape(16, -1, width)
    plain = np.abs(blocks).max(-1, keepdims=True) / HIGH
    usual = np.square(np.rint(blocks / plain) * plain - blocks).sum(-1)
    assert np.all(error <= usual * (1 + 1e-5))
    assert error.sum() < 0.9 * usual.sum()


def test_zeros_stay_zero():
    integers, scales = quantize_blocks(np.zeros((2, BLOCK), np.float32))
    assert not integers.any()
    assert np.all(scales > 0)


def test_columns_that_fill_no_blocks_are_refused():
    with pytest.raises(ValueError, match=r"multiple of 32. Received: 40"):
        quantize_blocks(np.ones((1, 40), np.float32))


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_weights_that_are_no_numbers_are_refused(value):
    weights = np.ones((1, BLOCK), np.float32)
    weights[0, 3] = value
    with pytest.raises(RecipeError, match="Received"):
        quantize_blocks(weights)


def test_bytes_hold_neighbors_in_tflite_and_halves_of_an_axis_in_onnx():
    assert pack(np.array([1, -8, 7, -1, 3], np.int8)).tolist() == [0x81, 0xF7, 0x03]
    assert together(np.array([[1, -8, 7, -1]], np.int8), axis=1).tolist() == [[0x71, 0xF8]]


def test_small_and_narrow_weights_do_not_fit():
    assert is_dense_fit(64, 16)
    assert not is_dense_fit(64, 15)
    assert not is_dense_fit(40, 400)
    assert is_table_fit((100, 24))
    assert not is_table_fit((100, 25))
    assert not is_table_fit((10, 24))
    assert not is_table_fit((4000,))


def test_half_of_the_weights_must_fit():
    check_share(50, 100)
    with pytest.raises(RecipeError, match=r"half of its weights.*Received: a model with 49% of them there\.$"):
        check_share(49, 100)
