"""Verification: chunks, references, probes of other runtimes."""

import numpy as np
import pytest

from exporters.parity import EXACT, FLOAT_ATOL
from exporters.runners import RunnerError
from exporters.verify import Check, verify

TEXTS = [f"text {i}" for i in range(600)]


class Fake:
    def __init__(self, name, takes="features", shift=0.0, error=None):
        self.name, self.takes, self.shift, self.error, self.sizes = name, takes, shift, error, []

    def __call__(self, values):
        if self.error:
            raise RunnerError(self.error)
        self.sizes.append(len(values))
        numbers = [int(value.split()[1]) for value in values] if self.takes == "text" else values[:, 0, 0].tolist()
        return np.eye(3, dtype=np.float32)[[int(n) % 3 for n in numbers]] + np.float32(self.shift)


def project(texts):
    return np.array([int(text.split()[1]) for text in texts])[:, None, None]


def test_features_and_texts_reach_the_runners_that_take_them_in_chunks():
    features, text = Fake("features"), Fake("text", takes="text")
    result = verify(
        [Check(runner=features, against=None), Check(runner=text, against="features", limit=EXACT)],
        TEXTS,
        None,
        project=project,
    )
    assert features.sizes == text.sizes == [256, 256, 88]
    assert [(parity.rows, parity.max_abs) for parity in result.parities] == [(600, 0.0)]
    assert result.scores == ()


def test_scores_count_the_drop_from_the_first_runner():
    targets = np.arange(600) % 3
    targets[:60] = (targets[:60] + 1) % 3
    result = verify([Check(runner=Fake("a"), against=None)], TEXTS, targets, project=project)
    assert [(row.stage, row.score.value, row.drop) for row in result.scores] == [("a", 90.0, 0.0)]


def test_a_difference_fails_the_check_it_belongs_to():
    checks = [Check(runner=Fake("a"), against=None), Check(runner=Fake("b", shift=0.5), against="a", limit=FLOAT_ATOL)]
    (parity,) = verify(checks, TEXTS[:5], None, project=project).parities
    assert not parity.passed
    assert parity.max_abs == 0.5


def test_a_probe_runs_on_the_first_chunk_only():
    probe = Fake("other runtime")
    result = verify(
        [Check(runner=Fake("a"), against=None)], TEXTS, None, project=project, probes=[Check(runner=probe, against="a")]
    )
    assert probe.sizes == [256]
    assert result.parities[0].rows == 256
    assert result.notes == ()


def test_a_runtime_that_refuses_a_file_is_a_note_and_not_a_crash():
    probe = Check(runner=Fake("other", error="version 12 is not known"), against="a")
    result = verify([Check(runner=Fake("a"), against=None)], TEXTS[:3], None, project=project, probes=[probe])
    assert result.parities == ()
    assert "version 12" in result.notes[0]


def test_a_runtime_that_answers_zeros_is_named():
    class Zeros(Fake):
        def __call__(self, values):
            return np.zeros((len(values), 3), np.float32)

    result = verify(
        [Check(runner=Fake("a"), against=None)],
        TEXTS,
        None,
        project=project,
        probes=[Check(runner=Zeros("old"), against="a")],
    )
    assert "old answers something else" in result.notes[0]


def test_any_other_error_of_a_runner_is_raised():
    class Broken(Fake):
        def __call__(self, values):
            raise ValueError("shape")

    with pytest.raises(ValueError, match="shape"):
        verify([Check(runner=Broken("a"), against=None)], TEXTS[:2], None, project=project)
