"""Probabilities and labels of a file are judged by its own logits."""

import numpy as np
import pytest

from exporters.verification.label_outputs import SIGMOID, SOFTMAX, label_parities

LOGITS = np.array([[1.0, 3.0, 3.0], [0.0, -2.0, -1.0]], np.float32)
OF_SOFTMAX = np.array([[0.0633789, 0.46831053, 0.46831053], [0.66524096, 0.09003057, 0.24472847]], np.float32)
OF_SIGMOID = np.array([[0.7310586, 0.95257413, 0.95257413], [0.5, 0.11920292, 0.26894142]], np.float32)


def passed(probabilities: np.ndarray, label: list[float], activation: str) -> list[bool]:
    outputs = {"logits": LOGITS, "probabilities": probabilities, "label": np.array(label, np.float32)}
    return [parity.passed for parity in label_parities("x", outputs, activation)]


def test_the_right_ones_pass_and_of_equal_logits_either_is_the_best():
    for label in ([1, 0], [2, 0]):
        assert passed(OF_SOFTMAX, label, SOFTMAX) == [True, True]
        assert passed(OF_SIGMOID, label, SIGMOID) == [True, True]


def test_the_other_activation_and_a_small_error_fail():
    assert passed(OF_SIGMOID, [1, 0], SOFTMAX) == [False, True]
    assert passed(OF_SOFTMAX + np.float32(2e-5), [1, 0], SOFTMAX) == [False, True]


@pytest.mark.parametrize("label", [[0, 0], [1, 2], [3, 0], [-1, 0]])
def test_a_label_that_is_not_the_best_or_none_at_all_fails(label):
    assert passed(OF_SOFTMAX, label, SOFTMAX) == [True, False]
