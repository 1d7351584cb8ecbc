"""Scores: accuracy and micro F1 with their standard errors."""

import numpy as np
import pytest

from exporters.verification.evaluate import score


def test_accuracy_counts_right_rows_and_gives_the_binomial_standard_error():
    logits = np.eye(4, dtype=np.float32)[[0, 1, 2, 3]]
    result = score(logits, np.array([0, 1, 2, 0]))
    assert (result.metric, result.value, result.n) == ("accuracy", 75.0, 4)
    assert result.standard_error == pytest.approx(100 * (0.75 * 0.25 / 4) ** 0.5)
    assert result.exact_match is None


def test_rows_with_nan_are_wrong():
    logits = np.array([[np.nan, 0.0], [1.0, 0.0]], np.float32)
    assert score(logits, np.array([0, 0])).value == 50.0


def test_multi_label_gives_micro_f1_and_exact_match():
    logits = np.array([[1, -1, 1], [-1, 1, -1]], np.float32)
    targets = np.array([[True, False, False], [False, True, False]])
    result = score(logits, targets)
    assert result.metric == "micro_f1"
    assert result.value == pytest.approx(100 * 2 * 2 / 5)
    assert result.exact_match == 50.0


def test_micro_f1_standard_error_depends_on_the_seed_only():
    generator = np.random.default_rng(5)
    logits, targets = generator.normal(size=(40, 3)), generator.random((40, 3)) > 0.5
    assert score(logits, targets, seed=1) == score(logits, targets, seed=1)
    assert 0 < score(logits, targets, seed=1).standard_error < 20


def test_no_rows_or_unequal_rows_are_refused():
    with pytest.raises(ValueError, match="same rows"):
        score(np.zeros((0, 2)), np.zeros(0, int))
    with pytest.raises(ValueError, match="same rows"):
        score(np.zeros((2, 2)), np.zeros(3, int))
