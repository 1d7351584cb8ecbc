"""Verification: chunks, references, probes of other runtimes."""

import threading
import time

import numpy as np
import pytest

from exporters.data.text_rows import TextRows
from exporters.formats.runners import OneCall, RunnerError
from exporters.verification.verify import Check, Verification, verify
from quantize.recipe import EXACT, FLOAT_ATOL

TEXTS = [f"text {i}" for i in range(600)]


@pytest.fixture(autouse=True)
def chunks_of_256_rows(monkeypatch):
    monkeypatch.setattr("exporters.verification.verify._CHUNK_ROWS", 256)


class Fake:
    def __init__(self, name, takes="features", shift=0.0, error=None):
        self.name, self.takes, self.shift, self.error, self.sizes = name, takes, shift, error, []
        self.inputs = (takes,)

    def __call__(self, feed):
        if self.error:
            raise RunnerError(self.error)
        values = feed[self.takes]
        self.sizes.append(len(values))
        numbers = [int(value.split()[1]) for value in values] if self.takes == "text" else values[:, 0, 0].tolist()
        return {"logits": np.eye(3, dtype=np.float32)[[int(n) % 3 for n in numbers]] + np.float32(self.shift)}


def project(texts):
    return np.array([int(text.split()[1]) if text else 0 for text in texts])[:, None, None]


def check(checks, probes=(), *, rows=600, targets=None) -> Verification:
    return verify(checks, probes, TextRows(keys=TEXTS[:rows], targets=targets, project=project, labels=("a", "b", "c")))


def test_features_and_texts_reach_the_runners_that_take_them_in_chunks():
    features, text = Fake("features"), Fake("text", takes="text")
    result = check([Check(runner=features, against=None), Check(runner=text, against="features", limit=EXACT)])
    assert features.sizes == text.sizes == [256, 256, 88]
    assert [(parity.rows, parity.max_abs) for parity in result.parities] == [(600, 0.0)]
    assert result.scores == ()


def test_scores_count_the_drop_from_the_first_runner():
    targets = np.arange(600) % 3
    targets[:60] = (targets[:60] + 1) % 3
    result = check([Check(runner=Fake("a"), against=None)], targets=targets)
    assert [(row.stage, row.score.value, row.drop) for row in result.scores] == [("a", 90.0, 0.0)]


def test_a_difference_fails_the_check_it_belongs_to():
    checks = [Check(runner=Fake("a"), against=None), Check(runner=Fake("b", shift=0.5), against="a", limit=FLOAT_ATOL)]
    (parity,) = check(checks, rows=5).parities
    assert not parity.passed
    assert parity.max_abs == 0.5


def test_a_probe_runs_on_the_first_rows_only(monkeypatch):
    monkeypatch.setattr("exporters.verification.verify._PROBED_ROWS", 200)
    probe = Fake("other runtime")
    result = check([Check(runner=Fake("a"), against=None)], [Check(runner=probe, against="a")])
    assert probe.sizes == [200]
    assert result.parities[0].rows == 200
    assert result.notes == ()


def test_a_runtime_that_refuses_a_file_is_a_note_and_not_a_crash():
    probe = Check(runner=Fake("other", error="version 12 is not known"), against="a")
    result = check([Check(runner=Fake("a"), against=None)], [probe], rows=3)
    assert result.parities == ()
    assert "version 12" in result.notes[0]


def test_a_runtime_that_answers_zeros_is_named():
    class Zeros(Fake):
        def __call__(self, feed):
            return {"logits": np.zeros((len(feed["features"]), 3), np.float32)}

    result = check([Check(runner=Fake("a"), against=None)], [Check(runner=Zeros("old"), against="a")])
    assert "old answers something else" in result.notes[0]


def test_any_other_error_of_a_runner_is_raised():
    class Broken(Fake):
        def __call__(self, feed):
            raise ValueError("shape")

    with pytest.raises(ValueError, match="shape"):
        check([Check(runner=Broken("a"), against=None)], rows=2)


def test_a_check_of_some_rows_stops_after_them_and_is_compared_on_them():
    some, probe = Fake("some", shift=0.5), Fake("probe")
    checks = [Check(runner=Fake("a"), against=None), Check(runner=some, against="a", most=300, scored=False)]
    result = check(checks, [Check(runner=probe, against="some", most=7)], targets=np.arange(600) % 3)
    assert some.sizes == [256, 44]
    assert probe.sizes == [7]
    assert [(parity.candidate, parity.rows, parity.max_abs) for parity in result.parities] == [
        ("some", 300, 0.5),
        ("probe", 7, 0.5),
    ]
    assert [row.stage for row in result.scores] == ["a"]


def test_a_relative_limit_is_that_of_the_largest_answer_of_the_reference():
    class Large(Fake):
        def __call__(self, feed):
            return {"logits": 50 * super().__call__(feed)["logits"]}

    checks = [
        Check(runner=Large("a"), against=None),
        Check(runner=Large("b", shift=9e-5), against="a", limit=1e-4, relative=True),
        Check(runner=Large("c", shift=2e-4), against="a", limit=1e-4, relative=True),
    ]
    near, far = check(checks, rows=5).parities
    assert near.limit == far.limit == pytest.approx(5e-3)
    assert near.passed != far.passed


@pytest.mark.parametrize(("exact", "holds"), [(None, False), (0.0, False), (0.002, True), (0.001, False)])
def test_a_difference_is_excused_by_what_float32_itself_rounds_and_by_nothing_else(exact, holds):
    """`exact` is how far a network in float64 is from itself in float32, on the rows that differ most."""
    runners = [Fake("float32"), Fake("float64", shift=exact or 0.0)]
    checks = [
        Check(runner=Fake("a"), against=None, precisions=() if exact is None else (tuple(runners),)),
        Check(runner=Fake("b", shift=0.005), against="a", limit=1e-4, relative=True),
    ]
    result = check(checks, [Check(runner=Fake("probe", shift=0.005), against="a", limit=1e-4, relative=True)], rows=9)
    assert [parity.passed for parity in result.parities] == [holds, holds]
    assert all(
        parity.rounding == (None if exact is None else pytest.approx(exact, abs=1e-6)) for parity in result.parities
    )
    assert len([note for note in result.notes if "float32 itself" in note]) == 2 * holds
    assert all(runner.sizes == ([] if exact is None else [4, 4]) for runner in runners)  # some rows only


def test_float64_is_not_run_where_limits_hold():
    exact = Fake("float64")
    checks = [
        Check(runner=Fake("a"), against=None, precisions=((Fake("float32"), exact),)),
        Check(runner=Fake("b"), against="a", limit=1e-4, relative=True),
    ]
    assert check(checks, rows=9).parities[0].rounding is None
    assert exact.sizes == []


def test_a_runtime_that_answers_zeros_instead_of_scores_is_named():
    class Scores(Fake):
        def __call__(self, feed):
            return {"logits": np.full((len(feed["features"]), 1), 2.0 if self.name == "a" else 0.0, np.float32)}

    checks = [Check(runner=Scores("a"), against=None)], [Check(runner=Scores("old"), against="a", relative=True)]
    assert "old answers something else" in check(*checks).notes[0]


def test_checks_that_share_a_turn_are_loaded_one_at_a_time():
    loaded, most, order, turn = [], [], [], threading.Lock()

    class Loaded(Fake):
        def __call__(self, feed):
            loaded.append(self.name)
            most.append(len(loaded))
            order.append(self.name)
            time.sleep(0.05)
            loaded.remove(self.name)
            return super().__call__(feed)

    def large(name):
        return OneCall(lambda: Loaded(name), name=name, inputs=("features",), turn=turn)

    kept = [Fake("kept one"), Fake("kept two")]
    checks = [Check(runner=Fake("a"), against=None)]
    checks += [Check(runner=large(name), against="a", limit=EXACT, scored=False) for name in ("one", "two")]
    checks += [Check(runner=runner, against="a", limit=EXACT) for runner in kept]
    result = check(checks, rows=5)
    assert order == ["one", "two"]
    assert max(most) == 1
    assert [parity.candidate for parity in result.parities] == ["one", "two", "kept one", "kept two"]
    assert all(parity.passed for parity in result.parities)
