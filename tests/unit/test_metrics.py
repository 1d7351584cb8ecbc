"""Metrics against values computed by hand."""

import math

import numpy as np
import pytest

from models_tf.tasks import metrics

BIO = ["O", "B-a", "I-a", "B-b", "I-b"]


def test_f1_and_matthews_of_two_labels() -> None:
    # 3 true positives, 1 false positive, 2 false negatives, 4 true negatives
    predicted = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    targets = np.array([1, 1, 1, 0, 1, 1, 0, 0, 0, 0])
    table = metrics.confusion(predicted, targets, 2)
    assert metrics.label_f1(table, 1) == pytest.approx(100 * 6 / 9)
    assert metrics.matthews(table) == pytest.approx(100 * (3 * 4 - 1 * 2) / math.sqrt(4 * 5 * 5 * 6))


def test_macro_f1_leaves_out_labels_that_never_occur() -> None:
    table = metrics.confusion(np.array([0, 1, 1]), np.array([0, 1, 0]), 4)
    assert metrics.macro_f1(table) == pytest.approx(100 * (2 / 3 + 2 / 3) / 2)


def test_matthews_of_three_labels() -> None:
    # By the formula of Gorodkin: (c*s - sum p_k t_k) / sqrt((s^2 - sum p_k^2)(s^2 - sum t_k^2))
    predicted, targets = np.array([0, 2, 1, 0, 1, 2]), np.array([0, 1, 2, 0, 1, 2])
    expected = (4 * 6 - 12) / math.sqrt((36 - 12) * (36 - 12))
    assert metrics.matthews(metrics.confusion(predicted, targets, 3)) == pytest.approx(100 * expected)


def test_matthews_is_zero_for_one_answer_to_everything_and_never_above_one_hundred() -> None:
    targets = np.array([0, 1] * 1833 + [1])
    assert metrics.matthews(metrics.confusion(np.ones_like(targets), targets, 2)) == 0
    assert 99.999 < metrics.matthews(metrics.confusion(targets, targets, 2)) <= 100


def test_no_answer_is_never_right() -> None:
    table = metrics.confusion(np.array([-1, 0]), np.array([0, 0]), 2)
    assert table.tolist() == [[1, 0, 1], [0, 0, 0]]
    assert metrics.label_f1(table, 0) == pytest.approx(100 * 2 / 3)


def test_pearson_and_spearman_by_hand() -> None:
    a, b = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 9.0])
    # deviations -1.5 -.5 .5 1.5 and -2.75 -.75 -1.75 5.25
    assert metrics.pearson(a, b) == pytest.approx(100 * 11.5 / math.sqrt(5 * 38.75))
    assert metrics.spearman(a, b) == pytest.approx(100 * (1 - 6 * 2 / (4 * 15)))


def test_equal_values_share_their_rank() -> None:
    assert metrics.ranks(np.array([5.0, 1.0, 5.0, 3.0])).tolist() == [3.5, 1.0, 3.5, 2.0]
    # ranks 1 2.5 2.5 4 and 1 2 3 4: deviations -1.5 0 0 1.5 and -1.5 -.5 .5 1.5
    got = metrics.spearman(np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    assert got == pytest.approx(100 * 4.5 / math.sqrt(4.5 * 5))


@pytest.mark.parametrize("bad", [[2.0, 2.0, 2.0], [0.1, 0.1, 0.1], [1.0, math.nan, 2.0], [1.0, math.inf, 2.0]])
def test_a_correlation_with_a_constant_or_a_nan_is_zero(bad: list[float]) -> None:
    values = np.array([1.0, 2.0, 4.0])
    for statistic in (metrics.pearson, metrics.spearman):
        assert statistic(np.array(bad), values) == 0
        assert statistic(values, np.array(bad)) == 0


def test_correlations_do_not_overflow() -> None:
    values = np.array([1e300, -1e300, 5e299])
    assert metrics.pearson(values, values) == pytest.approx(100)


def test_correlations_equal_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="only to compare with")
    generator = np.random.default_rng(3)
    a = generator.normal(size=200).round(1)
    b = (a + generator.normal(size=200)).round(1)
    assert metrics.pearson(a, b) == pytest.approx(100 * stats.pearsonr(a, b)[0])
    assert metrics.spearman(a, b) == pytest.approx(100 * stats.spearmanr(a, b)[0])


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O B-a I-a O", {("a", 1, 2)}),
        ("B-a B-a", {("a", 0, 0), ("a", 1, 1)}),
        ("I-a I-a O I-b", {("a", 0, 1), ("b", 3, 3)}),  # I without B begins an entity
        ("B-a I-b I-b", {("a", 0, 0), ("b", 1, 2)}),  # another type ends one and begins one
        ("O O B-b", {("b", 2, 2)}),  # the end of the row ends an entity
        ("B-a I-a B-a I-a I-a", {("a", 0, 1), ("a", 2, 4)}),
        ("B-creative-work I-creative-work", {("creative-work", 0, 1)}),
        ("B-a I-a E-a S-a O E-a I-a", {("a", 0, 2), ("a", 3, 3), ("a", 5, 5), ("a", 6, 6)}),
        ("O O", set()),
        ("", set()),
    ],
)
def test_entities_are_found_as_conlleval_finds_them(tags: str, expected: set[tuple[str, int, int]]) -> None:
    assert metrics.entities(tags.split()) == expected


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(BIO, True), (["O"], False), (["NOUN", "VERB"], False), (["O", "B-a", "X"], False), (["B-a", "I-a"], False)],
)
def test_labels_of_entities_are_recognised(labels: list[str], expected: bool) -> None:
    assert metrics.are_entity_labels(labels) is expected


def test_the_resampled_error_of_a_mean_is_close_to_the_exact_one() -> None:
    values = np.random.default_rng(1).normal(size=400)
    got = metrics.resampled_error(lambda rows: float(values[rows].mean()), 400, seed=0)
    # 200 resamples give a standard deviation within 1/sqrt(2*200) = 5 %; three times that is allowed
    assert got == pytest.approx(values.std() / 20, rel=0.15)
    assert got == metrics.resampled_error(lambda rows: float(values[rows].mean()), 400, seed=0)


@pytest.mark.parametrize(("right", "n"), [(0, 10), (10, 10), (1, 3), (283, 301), (299, 301), (150, 301)])
def test_wilson_is_that_of_scipy(right, n):
    stats = pytest.importorskip("scipy.stats", reason="only to compare with")
    expected = stats.binomtest(right, n).proportion_ci(method="wilson")
    low, high = metrics.wilson(right, n)
    assert (low, high) == pytest.approx((100 * expected.low, 100 * expected.high), abs=1e-9)
    assert low <= 100 * right / n <= high


def test_wilson_by_hand():
    """8 of 10: middle (0.8 + 0.19207) / 1.38415, half 1.95996 / 1.38415 * sqrt(0.016 + 0.0096036)."""
    assert metrics.wilson(8, 10) == pytest.approx((49.0162, 94.3318), abs=1e-3)


def test_a_resampled_interval_of_a_mean_is_that_of_the_normal_distribution():
    values = np.random.default_rng(1).normal(50, 10, 400)
    low, high = metrics.resampled_interval(lambda rows: float(values[rows].mean()), len(values), seed=0)
    half = 1.96 * values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.15)
    assert metrics.resampled_interval(lambda rows: float(values[rows].mean()), len(values), seed=0) == (low, high)
