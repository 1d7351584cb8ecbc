"""Times of parts: rounds are interleaved, shares add up to 1, and what a busy machine adds does not count."""

import numpy as np
import pytest

from exporters.profiling.timing import WARM_UP, interleaved, summarize


def test_rounds_run_everything_once_and_the_first_ones_do_not_count() -> None:
    order: list[str] = []
    found = interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 4)
    assert order == ["a", "b"] * (WARM_UP + 4)
    assert {name: len(times) for name, times in found.items()} == {"a": 4, "b": 4}
    assert all(value >= 0 for times in found.values() for value in times)


def column(*values: float) -> np.ndarray:
    return np.array(values)[:, None]


def test_a_round_that_was_disturbed_changes_no_share() -> None:
    timing = summarize([4.0] * 5, {"a": column(1, 1, 90, 1, 1), "b": column(3, 3, 3, 3, 50)})
    assert [part.share for part in timing.parts.values()] == [0.25, 0.75]
    assert (timing.whole_ms, timing.parts_ms) == (4000.0, 4000.0)
    # Five blocks of one round: the spread shows the disturbance.
    assert timing.parts["a"].share_high == pytest.approx(90 / 93)
    assert timing.parts["a"].share_low == pytest.approx(1 / 51)


def test_the_shortest_times_count_kernel_by_kernel() -> None:
    kernels = np.array([[1.0, 9.0], [8.0, 2.0], [9.0, 9.0]])  # two kernels in three rounds
    timing = summarize([6.0] * 3, {"a": kernels, "b": column(7, 3, 8)}, shortest=True)
    assert timing.parts["a"].ms == 3000.0
    assert timing.parts["a"].share == timing.parts["b"].share == 0.5


def test_shares_add_up_to_one_and_lie_within_their_spread() -> None:
    generator = np.random.default_rng(0)
    tables = {name: generator.uniform(1, 2, (30, pieces)) for name, pieces in (("a", 1), ("b", 7), ("c", 2))}
    for shortest in (False, True):
        parts = summarize([1.0] * 30, tables, shortest=shortest).parts.values()
        assert sum(part.share for part in parts) == pytest.approx(1.0)
        assert all(part.share_low <= part.share <= part.share_high for part in parts)


def test_a_clock_that_did_not_move_gives_no_share_and_no_error() -> None:
    assert summarize([0.0] * 5, {"a": column(*[0.0] * 5)}).parts["a"].share == 0.0
