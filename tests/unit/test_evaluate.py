"""Scores: accuracy with its standard error."""

import numpy as np
import pytest

from exporters.verification.evaluate import accuracy


def test_accuracy_counts_right_rows_and_gives_the_binomial_standard_error():
    logits = np.eye(4, dtype=np.float32)[[0, 1, 2, 3]]
    result = accuracy(logits, np.array([0, 1, 2, 0]))
    assert (result.metric, result.value, result.n) == ("accuracy", 75.0, 4)
    assert result.standard_error == pytest.approx(100 * (0.75 * 0.25 / 4) ** 0.5)
    assert result.exact_match is None
    assert result.label_threshold is None


def test_rows_with_nan_are_wrong():
    logits = np.array([[np.nan, 0.0], [1.0, 0.0]], np.float32)
    assert accuracy(logits, np.array([0, 0])).value == 50.0


def test_no_rows_or_unequal_rows_are_refused():
    with pytest.raises(ValueError, match="same rows"):
        accuracy(np.zeros((0, 2)), np.zeros(0, int))
    with pytest.raises(ValueError, match="same rows"):
        accuracy(np.zeros((2, 2)), np.zeros(3, int))
