"""Medians, percentiles and paired ratios, against cases computed by hand."""

import pytest

from exporters.benchmarking import statistics
from exporters.benchmarking.statistics import Ratio, Times

MS = 1_000_000


def test_a_summary_of_five_times():
    times = statistics.summarize([5 * MS, 1 * MS, 3 * MS, 2 * MS, 4 * MS])
    # p95 of five values lies at 0.95 * 4 = 3.8 steps: four fifths of the way from 4 to 5.
    expected = {"median": 3, "p95": 4.8, "q1": 2, "q3": 4, "mean": 3, "min": 1, "max": 5}
    assert times.count == 5
    for name, value in expected.items():
        assert getattr(times, f"{name}_ms") == pytest.approx(value)
    assert times.spread_ms == pytest.approx(2)


def test_a_summary_of_one_time_has_no_spread():
    assert statistics.summarize([7 * MS]) == Times(
        count=1, median_ms=7, p95_ms=7, q1_ms=7, q3_ms=7, mean_ms=7, min_ms=7, max_ms=7
    )


def test_one_slow_call_of_a_hundred_moves_neither_median_nor_spread():
    times = statistics.summarize([*[2 * MS] * 99, 900 * MS])
    assert (times.median_ms, times.spread_ms, times.p95_ms) == pytest.approx((2, 0, 2))
    assert times.max_ms == pytest.approx(900)


def test_a_round_counts_with_its_median():
    assert statistics.medians([[1 * MS, 9 * MS, 2 * MS], [4 * MS, 6 * MS]]) == pytest.approx((2, 5))


def test_ratios_are_paired_by_round():
    # 2/1, 4/2 and 9/3: the middle one is 2, the quartiles 2 and 2.5.
    assert statistics.paired([2, 4, 9], [1, 2, 3]) == Ratio(median=2, q1=2, q3=2.5)


def test_what_slows_a_round_down_for_both_files_leaves_the_ratio():
    base = [1.0, 10.0, 1.0, 7.0, 1.0]  # the machine was busy in two rounds
    found = statistics.paired([0.5 * value for value in base], base)
    assert found == Ratio(median=0.5, q1=0.5, q3=0.5)
    # The ratio of the medians alone would be right here too, but the quartiles of the times span a factor of seven.
    assert statistics.summarize(base).q3_ms / statistics.summarize(base).q1_ms == pytest.approx(7)


def test_rounds_that_the_clock_could_not_see_are_left_out():
    assert statistics.paired([1, 3], [0, 1]) == Ratio(median=3, q1=3, q3=3)
    assert statistics.paired([1, 3], [0, 0]) is None
