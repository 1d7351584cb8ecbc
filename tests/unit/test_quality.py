"""What is behind an accuracy, on answers small enough to count by hand."""

import numpy as np
import pytest

from exporters.data.text_rows import TextRows
from exporters.verification import quality
from exporters.verification.quality import Answers, Bin, Confused, qualities
from models_tf.tasks.decisions import Decisions
from models_tf.tasks.judged import Judged

LABELS = ("a", "b", "c")
TARGETS = np.array([0, 0, 1, 1, 2, 2])


def rows(texts=("one", "one two", "x", "x", "x", "x")) -> TextRows:
    return TextRows(keys=list(texts), targets=TARGETS, project=None, labels=LABELS)


def logits(*answers: int, size: float = 3.0) -> np.ndarray:
    return size * np.eye(3)[list(answers)]


def answers(values: np.ndarray, of: TextRows | None = None) -> Answers:
    one = of or rows()
    return Answers(judged=one.judge({"logits": values}), decisions=one.decisions({"logits": values}))


def test_confusions_are_counted_by_label_and_answer():
    values = logits(0, 1, 1, 0, 0, 2)
    values[5, 0] = np.nan
    found = quality.confusion(answers(values).decisions)
    assert found.labels == LABELS
    assert found.counts == ((1, 1, 0), (1, 1, 0), (1, 0, 0))
    assert found.top == tuple(Confused(label=a, answer=b, count=1) for a, b in (("a", "b"), ("b", "a"), ("c", "a")))
    assert found.unanswered == 1


def test_the_largest_confusions_come_first_and_many_labels_have_no_matrix():
    count = quality.MATRIX_LABELS + 1
    names, targets = tuple(f"l{i}" for i in range(count)), np.array([3, 3, 3, 5, 5, 7])
    found = quality.confusion(Decisions(labels=names, targets=targets, logits=np.eye(count)[[4, 4, 3, 6, 6, 8]]))
    assert found.labels is None
    assert found.counts is None
    assert [(one.label, one.answer, one.count) for one in found.top] == [
        ("l3", "l4", 2),
        ("l5", "l6", 2),
        ("l7", "l8", 1),
    ]


def test_flips_are_worse_better_or_neither_and_have_the_row_of_their_file():
    before, after = answers(logits(0, 0, 1, 0, 0, 2)).judged, answers(logits(1, 0, 1, 1, 1, 2)).judged
    found = quality.flipped(before, after, numbers=(2, 4, 6, 8, 10, 12))
    assert (found.total, found.worse, found.better) == (3, 1, 1)
    assert [(one.row, one.label, one.before, one.after) for one in found.shown] == [
        (2, "a", "a", "b"),
        (10, "c", "a", "b"),
        (8, "b", "a", "b"),
    ]
    assert [one.row for one in quality.flipped(before, after).shown] == [1, 5, 4]


def test_long_texts_are_cut_and_few_of_many_flips_are_shown():
    many = quality.SHOWN_FLIPS + 10
    texts, targets = ["word " * 100] * many, np.zeros(many, int)
    one = TextRows(keys=texts, targets=targets, project=None, labels=LABELS)
    before, after = (one.judge({"logits": np.tile(values, (many, 1))}) for values in ([3.0, 0, 0], [0, 3.0, 0]))
    found = quality.flipped(before, after)
    assert (found.total, len(found.shown)) == (many, quality.SHOWN_FLIPS)
    assert len(found.shown[0].text) == quality.LONGEST_TEXT
    assert found.shown[0].text.endswith("…")


def test_reliability_bins_hold_what_they_say_and_the_error_is_their_weighted_gap():
    found = quality.reliability(np.array([0.35, 0.95, 0.85, 0.9]), np.array([0.0, 1.0, 0.0, 1.0]))
    filled = {(round(one.low), round(one.high)): one for one in found.bins if one.n}
    assert {bounds: one.n for bounds, one in filled.items()} == {(30, 40): 1, (80, 90): 2, (90, 100): 1}
    assert filled[80, 90].accuracy == 50
    assert filled[80, 90].confidence == pytest.approx(87.5)
    assert found.calibration_error == pytest.approx((1 * 35 + 2 * 37.5 + 1 * 5) / 4)
    assert found.bins[0] == Bin(low=0.0, high=10.0, n=0, accuracy=None)


def test_lengths_are_cut_into_bins_of_similar_size_that_hold_every_text_once():
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 30, 200)
    one = TextRows(
        keys=["w " * n for n in lengths], targets=(lengths > 15).astype(int), project=None, labels=("short", "long")
    )
    found = quality.by_length(one.judge({"logits": np.tile([1.0, 0.0], (200, 1))}))  # right on short texts alone
    assert found.unit == "words"
    assert len(found.bins) == quality.LENGTH_BINS
    assert sum(part.n for part in found.bins) == 200
    assert all(one.high < two.low for one, two in zip(found.bins, found.bins[1:], strict=False))
    assert found.bins[0].accuracy == 100
    assert found.bins[-1].accuracy == 0
    assert all(part.interval[0] <= part.accuracy <= part.interval[1] for part in found.bins)


def test_few_texts_are_one_bin():
    assert [part.n for part in quality.by_length(answers(logits(0, 0, 1, 1, 2, 2)).judged).bins] == [6]


def test_a_stage_with_the_same_answers_and_probabilities_is_named_and_not_repeated():
    stages = {
        "Keras": answers(logits(0, 0, 1, 1, 2, 2)),
        "float": answers(logits(0, 0, 1, 1, 2, 2)),
        "int8": answers(logits(0, 0, 1, 1, 2, 2, size=2.0)),
        "int8 again": answers(logits(0, 0, 1, 1, 2, 2, size=2.0)),
    }
    keras, same, int8, again = qualities(stages)
    assert (keras.same_as, same.same_as, int8.same_as, again.same_as) == (None, "Keras", None, "int8")
    assert keras.flipped is None
    assert int8.flipped.total == 0
    assert same.confusion is None


def test_partly_right_answers_have_no_binomial_interval_and_regressions_no_quality():
    def judged(metric, counts):
        texts = tuple("abcd")
        return Answers(judged=Judged(metric=metric, texts=texts, expected=texts, answers=texts, counts=counts))

    halves = judged("f1", np.array([[0.5, 1, 0]] * 4))
    (found,) = qualities({"Keras": halves})
    assert found.by_length.bins[0].accuracy == 50
    assert found.by_length.bins[0].interval is None
    assert qualities({"Keras": judged("pearson", np.ones((4, 2)))}) == ()
