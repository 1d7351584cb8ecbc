"""Rows at a tie of the ranking: found by the reference's margin, left out only where they differ, and counted."""

import math

import numpy as np
import pytest
import tensorflow as tf

from exporters.data.text_rows import TextRows
from exporters.data.token_rows import TokenRows
from exporters.formats.tensor_names import MARGIN
from exporters.verification.parity import UNDECIDED_MARGIN
from exporters.verification.verify import Check, Verification, verify
from models_tf.encoder.retention import margin
from quantize.recipe import FLOAT_RTOL

ROWS = 200


class Answers:
    """`wrong` rows answer something else; the reference has margins."""

    inputs = ("text",)

    def __init__(self, name, *, wrong=(), margins=None):
        self.name, self._wrong, self._margins = name, set(wrong), margins

    def __call__(self, feed):
        rows = [int(text.split()[1]) for text in feed["text"]]
        logits = np.array([[1.0, -1.0] if row in self._wrong else [-1.0, 1.0] for row in rows], np.float32)
        return {"logits": logits} | ({} if self._margins is None else {MARGIN: self._margins[rows]})


def check(wrong, margins, *, limit=FLOAT_RTOL, probe=()) -> Verification:
    examples = TextRows(
        keys=[f"text {i}" for i in range(ROWS)], targets=None, project=lambda texts: np.zeros(len(texts))
    )
    checks = [
        Check(runner=Answers("Keras", margins=margins), against=None),
        Check(runner=Answers("file", wrong=wrong), against="Keras", limit=limit, relative=True),
    ]
    probes = [Check(runner=Answers("other", wrong=probe), against="Keras", limit=limit, relative=True)] if probe else []
    return verify(checks, probes, examples)


def margins(close=()) -> np.ndarray:
    found = np.full(ROWS, 0.01, np.float32)
    found[list(close)] = UNDECIDED_MARGIN / 2
    return found


def test_a_row_at_a_tie_that_differs_is_left_out_and_counted():
    result = check([7, 30], margins([7, 30, 40]))
    (parity,) = result.parities
    assert parity.passed
    assert (parity.rows, parity.undecided, parity.max_abs) == (198, 2, 0.0)
    assert any("2 of 200 rows are undecided" in note for note in result.notes)


def test_rows_at_a_tie_that_agree_are_compared_as_all_others():
    (parity,) = check([], margins(range(ROWS))).parities
    assert (parity.rows, parity.undecided, parity.passed) == (200, 0, True)


def test_a_decided_row_that_differs_fails():
    (parity,) = check([7, 8], margins([7])).parities
    assert not parity.passed
    assert (parity.undecided, parity.max_abs) == (1, 2.0)


def test_many_undecided_rows_that_differ_fail():
    (parity,) = check(range(11), margins(range(ROWS))).parities
    assert not parity.passed
    assert "Received: 11 of 200" in parity.failure()
    (parity,) = check(range(10), margins(range(ROWS))).parities
    assert parity.passed


def test_a_file_that_is_wrong_everywhere_fails_though_every_row_is_at_a_tie():
    (parity,) = check(range(ROWS), margins(range(ROWS))).parities
    assert not parity.passed


def test_without_margins_nothing_is_left_out():
    (parity,) = check([7], None).parities
    assert not parity.passed


def test_quantized_files_are_compared_on_all_rows():
    (parity,) = check([7], margins([7]), limit=None).parities
    assert (parity.rows, parity.undecided) == (200, 0)


def test_other_runtimes_are_judged_by_the_same_margins():
    _, probed = check([], margins([7]), probe=[7]).parities
    assert (probed.passed, probed.undecided) == (True, 1)


SIGNIFICANCE = np.array([[0.1, 0.9, 0.5, 0.5 - 1e-6, 0.2, 0.3]], np.float32)
FULL = np.ones((1, 6), np.int32)


def of(kept: int, *, mask: np.ndarray = FULL, values: np.ndarray = SIGNIFICANCE, in_order: bool = False) -> float:
    places = tf.zeros((1, kept), tf.int32)
    return float(margin([tf.constant(values)], [places], tf.constant(mask), in_order=in_order)[0])


# In the order of the ranking: the first token, 0.9, 0.5, 0.5 - 1e-6, 0.3, 0.2.
@pytest.mark.parametrize(("kept", "gap"), [(2, 0.4), (3, 1e-6), (4, 0.2), (5, 0.1), (6, math.inf)])
def test_a_margin_is_the_gap_at_the_border(kept, gap):
    assert of(kept) == pytest.approx(gap, rel=1e-4, abs=1e-7)


def test_the_first_token_is_kept_whatever_its_significance():
    assert of(1) > 0.9


def test_in_order_every_gap_down_to_the_border_counts():
    assert of(4, in_order=True) == pytest.approx(1e-6, abs=1e-7)
    assert of(2, in_order=True) == pytest.approx(0.4)


def test_large_values_are_compared_by_their_size():
    assert of(3, values=SIGNIFICANCE * 100) == pytest.approx(2e-6, abs=1e-6)


def test_padding_is_no_choice():
    mask = np.array([[1, 1, 1, 0, 0, 0]], np.int32)
    assert of(3, mask=mask) > 1  # the last token against padding
    assert math.isinf(of(4, mask=mask))  # padding against padding


def test_the_smallest_of_all_layers_counts():
    second = np.array([[0.5, 0.4, 0.1]], np.float32)
    places = [tf.constant([[0, 1, 2]]), tf.constant([[0, 1]])]
    found = margin([tf.constant(SIGNIFICANCE), tf.constant(second)], places, tf.constant(FULL))
    assert float(found[0]) == pytest.approx(1e-6, abs=1e-7)
    found = margin([tf.constant(SIGNIFICANCE[:, :5]), tf.constant(second)], places, tf.constant(FULL[:, :5]))
    assert float(found[0]) == pytest.approx(1e-6, abs=1e-7)


def test_hidden_states_are_compared_for_the_tokens_that_were_kept():
    """Of four tokens three are kept, padding last: a row of two has two of them."""
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], np.int32)
    rows = TokenRows(inputs={"ids": mask, "mask": mask, "segments": 0 * mask}, keys=["a", "b"])
    states = np.arange(6, dtype=np.float32).reshape(2, 3, 1)
    np.testing.assert_array_equal(rows.answers({"hidden": states}).ravel(), [0, 1, 2, 3, 4])
