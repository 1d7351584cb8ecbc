"""Paired tests of two models on the same rows, against hand-computed cases and scipy."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from exporters.checking import paired
from models_tf.tasks.judged import correlation, f1, share


def rows(both: int, worse: int, better: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    before = [True] * both + [True] * worse + [False] * better + [False] * neither
    after = [True] * both + [False] * worse + [True] * better + [False] * neither
    return np.array(before), np.array(after)


def test_mcnemar_by_hand():
    # 6 rows lost, 1 won: P(X <= 1 of 7) = (1 + 7) / 128, twice.
    assert paired.mcnemar(6, 1) == pytest.approx(16 / 128)
    assert paired.mcnemar(1, 6) == pytest.approx(16 / 128)
    assert paired.mcnemar(0, 0) == 1.0
    assert paired.mcnemar(3, 3) == 1.0  # twice the half is more than one: capped
    assert paired.mcnemar(8, 0) == pytest.approx(2 / 256)


@pytest.mark.parametrize(("worse", "better"), [(0, 1), (5, 5), (17, 4), (120, 80), (0, 40), (2000, 1800)])
def test_mcnemar_is_the_binomial_test_of_scipy(worse, better):
    assert paired.mcnemar(worse, better) == pytest.approx(stats.binomtest(worse, worse + better, 0.5).pvalue, rel=1e-9)


def likelihood_score(drop: float, worse: int, better: int, n: int) -> float:
    """The same by brute force: the likeliest shares under the constraint are searched for, not solved."""

    def against(won: float) -> float:
        lost = won + drop
        same = 1 - won - lost
        terms = [(worse, lost), (better, won), (n - worse - better, same)]
        return -sum(count * math.log(max(share, 1e-300)) for count, share in terms if count)

    low, high = max(0.0, -drop), (1 - drop) / 2
    won = optimize.minimize_scalar(against, bounds=(low, high), method="bounded", options={"xatol": 1e-14}).x
    return (worse - better - n * drop) / math.sqrt(n * (2 * won + drop - drop * drop))


@pytest.mark.parametrize(("worse", "better", "n"), [(12, 3, 301), (1, 0, 301), (9, 9, 50), (30, 5, 1000), (7, 1, 20)])
def test_the_interval_ends_where_the_score_test_begins_to_reject(worse, better, n):
    low, high = paired.score_interval(worse, better, n)
    assert low < (worse - better) / n < high
    assert likelihood_score(low, worse, better, n) == pytest.approx(1.959964, abs=1e-3)
    assert likelihood_score(high, worse, better, n) == pytest.approx(-1.959964, abs=1e-3)


def test_the_interval_mirrors_when_the_models_change_places():
    low, high = paired.score_interval(12, 3, 301)
    assert paired.score_interval(3, 12, 301) == pytest.approx((-high, -low))


def test_the_interval_holds_the_true_drop_in_95_of_100_cases():
    generator = np.random.default_rng(11)
    lost, won, n = 0.03, 0.01, 400
    draws = generator.multinomial(n, [lost, won, 1 - lost - won], size=2000)
    held = [low <= lost - won <= high for low, high in (paired.score_interval(a, b, n) for a, b, _ in draws.tolist())]
    assert np.mean(held) == pytest.approx(0.95, abs=0.02)


def test_the_drop_is_what_was_lost_with_its_test():
    drop = paired.exact(*rows(280, 12, 3, 6))
    assert (drop.n, drop.worse, drop.better) == (301, 12, 3)
    assert drop.points == pytest.approx(100 * 9 / 301)
    assert (drop.low, drop.high) == pytest.approx([100 * end for end in paired.score_interval(12, 3, 301)])
    assert drop.p == pytest.approx(stats.binomtest(12, 15, 0.5).pvalue)


@pytest.mark.parametrize(
    ("worse", "better", "real"),
    [(12, 3, True), (12, 4, False), (9, 3, False), (6, 0, True), (5, 0, False), (3, 12, False), (200, 150, True)],
)
def test_without_a_limit_a_drop_is_real_when_mcnemar_says_so(worse, better, real):
    drop = paired.exact(*rows(400, worse, better, 5))
    assert drop.is_real == real == (worse > better and stats.binomtest(worse, worse + better).pvalue < 0.05)


@pytest.mark.parametrize(("limit", "real"), [(0.0, True), (0.5, True), (1.0, True), (1.5, False), (3.0, False)])
def test_a_limit_must_lie_below_the_interval(limit, real):
    drop = paired.exact(*rows(960, 30, 5, 5), limit=limit)
    assert 1.0 < drop.low < 1.5
    assert drop.is_real == real


def test_gates_fail_by_chance_in_at_most_one_run_of_forty():
    generator = np.random.default_rng(13)
    draws = generator.multinomial(300, [0.02, 0.02, 0.96], size=2000)  # equally good models that differ in 4 % of rows
    failed = [paired.mcnemar(a, b) < 0.05 and a > b for a, b, _ in draws.tolist()]
    assert np.mean(failed) <= 0.025


def test_one_row_of_301_is_noise_and_strictly_a_drop():
    drop = paired.exact(*rows(290, 1, 0, 10))
    assert drop.points == pytest.approx(100 / 301)
    assert drop.is_more
    assert not drop.is_real
    assert drop.p == 1.0


def test_no_row_differs_and_yet_a_small_drop_may_hide():
    drop = paired.exact(*rows(290, 0, 0, 11))
    assert (drop.points, drop.p, drop.is_real, drop.is_more) == (0, 1.0, False, False)
    assert drop.high == pytest.approx(100 * 1.959964**2 / (301 + 1.959964**2), rel=1e-5)
    assert drop.low == pytest.approx(-drop.high)


def test_rows_needed_grow_with_the_square():
    drop = paired.exact(*rows(290, 3, 1, 7), limit=0.5)
    half = (drop.high - drop.low) / 2
    assert drop.needed_rows == math.ceil(301 * (half / 0.5) ** 2) > 301
    assert paired.exact(*rows(290, 3, 1, 7), limit=50.0).needed_rows is None
    assert paired.exact(*rows(290, 3, 1, 7), limit=0.0).needed_rows is None  # no number of rows proves nothing is lost


def test_that_many_rows_do_show_a_drop_of_the_limit():
    limit, few = 1.0, paired.exact(*rows(380, 8, 4, 8), limit=1.0)
    factor = few.needed_rows / few.n
    many = paired.exact(*rows(*(round(count * factor) for count in (380, 8, 4, 8))), limit=limit)
    assert 0.85 * limit <= (many.high - many.low) / 2 <= limit  # the interval shrinks a little faster


def test_resampling_agrees_with_the_exact_test_where_both_apply():
    generator = np.random.default_rng(3)
    before = generator.random(2000) < 0.9
    after = np.where(generator.random(2000) < 0.06, ~before, before)
    counts = [np.stack([one, np.ones(2000)], axis=1).astype(float) for one in (before, after)]
    exact, drawn = paired.exact(before, after), paired.resampled(*counts, share)
    assert drawn.points == pytest.approx(exact.points)
    assert drawn.low == pytest.approx(exact.low, abs=0.25)
    assert drawn.high == pytest.approx(exact.high, abs=0.25)
    assert drawn.is_real == exact.is_real


def test_the_spread_of_an_f1_is_that_of_its_rows():
    generator = np.random.default_rng(5)
    wanted = generator.integers(1, 4, 500)
    right = generator.binomial(wanted, 0.9)
    before = np.stack([right, wanted, wanted], axis=1).astype(float)
    after = before.copy()
    after[:40, 0] = 0
    drop = paired.resampled(before, after, f1)
    assert drop.points == pytest.approx(f1(before) - f1(after))
    assert drop.low < drop.points < drop.high
    assert drop.is_real
    # The loss is a sum over rows, nearly: its standard error by the usual formula.
    lost = (before[:, 0] - after[:, 0]) / before[:, 1].mean()
    assert (drop.high - drop.low) / 2 == pytest.approx(1.96 * 100 * lost.std() / math.sqrt(500), rel=0.15)


def test_a_correlation_that_falls_by_chance_is_no_drop_and_one_that_breaks_is():
    generator = np.random.default_rng(7)
    target = generator.normal(size=400)
    predicted = target + 0.5 * generator.normal(size=400)
    before = np.stack([predicted, target], axis=1)
    noisy = np.stack([predicted + 0.01 * generator.normal(size=400), target], axis=1)
    broken = np.stack([generator.permutation(predicted), target], axis=1)
    assert not paired.resampled(before, noisy, correlation).is_real
    assert paired.resampled(before, broken, correlation, limit=20).is_real


def test_equal_counts_lose_nothing():
    counts = np.stack([np.arange(50) % 2, np.ones(50)], axis=1).astype(float)
    drop = paired.resampled(counts, counts, share)
    assert (drop.points, drop.low, drop.high, drop.is_real, drop.is_more) == (0, 0, 0, False, False)


def test_a_seed_gives_the_same_numbers():
    counts = np.stack([np.arange(50) % 2, np.ones(50)], axis=1).astype(float)
    other = counts[::-1].copy()
    assert paired.resampled(counts, other, share, seed=4) == paired.resampled(counts, other, share, seed=4)
