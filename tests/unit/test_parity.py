"""Parity: the numbers are what they say, and nothing slips through the limit."""

import numpy as np
import pytest

from exporters import parity

ROWS = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 0.25]], np.float32)


def test_equal_logits_pass_the_exact_limit():
    result = parity.compare("a", ROWS, "b", ROWS.copy(), limit=parity.EXACT)
    assert result.passed
    assert (result.max_abs, result.mean_abs, result.argmax_agreement, result.rows) == (0.0, 0.0, 1.0, 2)


def test_max_abs_mean_abs_and_argmax_are_over_all_rows_and_labels():
    other = ROWS.copy()
    other[0, 0] = 7.0
    result = parity.compare("a", other, "b", ROWS)
    assert result.max_abs == 6.0
    assert result.mean_abs == 1.0
    assert result.argmax_agreement == 0.5


def test_a_difference_above_the_limit_fails_and_names_both_sides():
    result = parity.compare("file", ROWS + 2e-4, "Keras", ROWS, limit=parity.FLOAT_ATOL)
    assert not result.passed
    assert "file against Keras" in result.failure()
    assert "Received" in result.failure()


def test_a_difference_just_inside_the_limit_passes():
    assert parity.compare("file", ROWS + 5e-5, "Keras", ROWS, limit=parity.FLOAT_ATOL).passed


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_never_pass(value):
    broken = ROWS.copy()
    broken[1, 1] = value
    assert not parity.compare("file", broken, "Keras", ROWS, limit=parity.FLOAT_ATOL).passed
    assert not parity.compare("file", broken, "same", broken.copy(), limit=parity.FLOAT_ATOL).passed


def test_different_shapes_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        parity.compare("file", ROWS[:, :2], "Keras", ROWS)
