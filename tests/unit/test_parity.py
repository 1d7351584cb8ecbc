"""Parity: the numbers are what they say, and nothing slips through the limit."""

import numpy as np
import pytest

from exporters.verification import parity
from quantize.recipe import EXACT, FLOAT_ATOL

ROWS = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 0.25]], np.float32)


def test_equal_logits_pass_the_exact_limit():
    result = parity.compare("a", ROWS, "b", ROWS.copy(), limit=EXACT)
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
    result = parity.compare("file", ROWS + 2e-4, "Keras", ROWS, limit=FLOAT_ATOL)
    assert not result.passed
    assert "file against Keras" in result.failure()
    assert "Received" in result.failure()


def test_a_difference_just_inside_the_limit_passes():
    assert parity.compare("file", ROWS + 5e-5, "Keras", ROWS, limit=FLOAT_ATOL).passed


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_never_pass(value):
    broken = ROWS.copy()
    broken[1, 1] = value
    assert not parity.compare("file", broken, "Keras", ROWS, limit=FLOAT_ATOL).passed
    assert not parity.compare("file", broken, "same", broken.copy(), limit=FLOAT_ATOL).passed


def test_different_shapes_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        parity.compare("file", ROWS[:, :2], "Keras", ROWS)


def test_a_relative_limit_is_that_of_the_largest_expected_number():
    large = 100 * ROWS
    near, far = (parity.compare("file", large + d, "Keras", large, limit=1e-4, relative=True) for d in (0.02, 0.05))
    assert near.limit == far.limit == pytest.approx(0.03)
    assert near.scale == 300.0
    assert near.passed
    assert not far.passed


def test_a_relative_limit_of_tiny_answers_is_that_of_a_hundredth():
    result = parity.compare("file", 1e-6 * ROWS, "Keras", 1e-6 * ROWS, limit=1e-4, relative=True)
    assert result.limit == pytest.approx(1e-6)


def test_a_relative_limit_of_a_reference_that_is_not_finite_never_passes():
    broken = np.full_like(ROWS, np.nan)
    assert not parity.compare("file", ROWS, "Keras", broken, limit=1e-4, relative=True).passed


def large(difference: float, *, relative: float = 1e-4) -> parity.Parity:
    return parity.compare("file", 100 * ROWS + difference, "Keras", 100 * ROWS, limit=relative, relative=True)


def test_a_limit_that_float32_itself_does_not_keep_is_derived_from_its_rounding():
    result = parity.wider(large(0.1), 0.05)  # the recipe's limit is 1e-4 of 300
    assert result.limit == pytest.approx(4 * 0.05)
    assert result.rounding == 0.05
    assert result.passed
    assert "float32 itself differs from float64 by 0.05 here, 4 times that is allowed" in result.remark()
    assert not parity.wider(large(0.3), 0.05).passed
    assert "expected max-abs at most 0.2 (" in parity.wider(large(0.3), 0.05).failure()
    assert "4 times that is allowed" in parity.wider(large(0.3), 0.05).failure()


def test_rounding_never_makes_a_limit_smaller_and_is_said_when_it_explains_nothing():
    result = parity.wider(large(0.1), 1e-4)
    assert result.limit == pytest.approx(0.03)
    assert not result.passed
    assert "float32 itself differs from float64 by 0.0001 here)" in result.failure()
    assert result.remark() is None


def test_a_network_that_rounds_by_percents_is_not_excused():
    result = parity.wider(large(3.5), 30.0)  # a tenth of the largest answer
    assert result.limit == pytest.approx(3.0)
    assert not result.passed
    assert "more is never allowed" in result.failure()


def test_rounding_that_is_not_finite_excuses_nothing():
    assert parity.wider(large(0.1), float("nan")) == large(0.1)
    assert large(0.1).remark() is None


def test_one_number_a_row_has_no_argmax_to_agree_on():
    scores = np.array([[1.0], [2.0]])
    assert parity.compare("a", scores, "b", scores).argmax_agreement is None
