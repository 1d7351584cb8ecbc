"""Files in processes of their own: a crash or a hang is an answer that says so, and the files behind it still run."""

import sys

import numpy as np
import pytest

from exporters.runtimes import agreement, row_jobs
from exporters.runtimes.row_jobs import Job, run_rows

ROWS = [{"x": np.full((1, length), length, np.int8)} for length in (1, 3, 2)]
# A worker that answers what it is asked, but for files of these names.
WORKER = """
import json, os, sys, time
sys.path.insert(0, {folder!r})
import numpy as np
import row_worker

class Echo:
    def __init__(self, file, runtime):
        self.path = os.path.basename(file["path"])
    def given(self, row):
        return row
    def run(self, given):
        if "crash" in self.path:
            os.write(2, b"last words\\n")
            os.abort()
        if "hang" in self.path:
            time.sleep(60)
        if "refused" in self.path:
            raise ValueError("not this file")
        return given
    def answers(self, found):
        return {{name: value.astype(np.float32) for name, value in found.items()}}

row_worker.RUNTIMES["echo"] = Echo
row_worker.main()
"""


def answers(names, tmp_path, **options):
    worker = WORKER.format(folder=str(row_jobs.WORKER.parent))
    jobs = [Job(path=tmp_path / name, rows=ROWS) for name in names]
    return run_rows(jobs, runtime="echo", command=lambda _: [sys.executable, "-c", worker], **options)


def test_rows_of_any_length_come_back_as_they_were_sent(tmp_path):
    (answer,) = answers(["a"], tmp_path)
    assert [row["x"].tolist() for row in answer.rows] == [[[1.0]], [[3.0, 3.0, 3.0]], [[2.0, 2.0]]]


def test_a_crash_blames_one_file_and_the_others_still_run(tmp_path):
    first, crashed, refused, last = answers(["a", "crash", "refused", "b"], tmp_path)
    assert len(first.rows) == len(last.rows) == 3
    assert crashed.error == "the runtime crashed (signal 6: last words)"
    assert refused.error == "not this file"


def test_a_hang_ends(tmp_path):
    hanging, after = answers(["hang", "b"], tmp_path, silent_seconds=6)
    assert hanging.error == "no sign of life for 6 s"
    assert len(after.rows) == 3


def test_a_worker_that_cannot_start_is_started_once(tmp_path):
    jobs = [Job(path=tmp_path / name, rows=ROWS) for name in "abc"]
    started = []

    def command(_):
        started.append(1)
        return [sys.executable, "-c", "raise SystemExit('no such library')"]

    found = run_rows(jobs, runtime="echo", command=command)
    assert {one.error for one in found} == {"the runtime crashed (exit code 1: no such library)"}
    assert len(started) == 1


def logits(*rows):
    return [{"logits": np.array([row], np.float32)} for row in rows]


def compared(one, two, *, tolerance=0.1, lengths=None, multi_label=False):
    return agreement.compare(one, two, tolerance=tolerance, lengths=lengths or [0] * len(one), multi_label=multi_label)


def test_a_flip_near_a_tie_is_counted_and_forgiven_and_any_other_fails():
    found = compared(logits([1.0, 1.05], [3.0, 1.0]), logits([1.06, 1.0], [3.0, 1.0]))
    assert (found.labels, found.same, found.close, found.flipped) == (2, 1, 1, 0)
    assert found.within(0.1)
    found = compared(logits([1.0, 1.2]), logits([1.09, 1.08]), tolerance=0.15)
    assert (found.flipped, found.within(0.15)) == (1, False)


def test_a_difference_beyond_the_tolerance_fails_though_labels_are_equal():
    assert not compared(logits([3.0, 1.0]), logits([3.2, 1.0])).within(0.1)


@pytest.mark.parametrize("found", [[{"other": np.zeros((1, 2))}], logits([1.0]), logits([np.nan, 0.0])])
def test_another_output_another_shape_and_no_number_are_infinitely_far(found):
    assert compared(logits([1.0, 0.0]), found).max_abs == np.inf


def test_what_is_answered_for_padding_is_not_compared():
    one = [{"logits": np.array([[[1.0, 0.0], [9.0, 0.0]]], np.float32)}]
    two = [{"logits": np.array([[[1.0, 0.0], [0.0, 9.0]]], np.float32)}]
    assert compared(one, two, lengths=[1]).within(0.0)
    assert not compared(one, two, lengths=[2]).within(1.0)


def test_several_labels_a_row_are_several_choices():
    found = compared(logits([2.0, -2.0, 0.01]), logits([2.0, -2.0, -0.01]), multi_label=True)
    assert (found.labels, found.same, found.close, found.flipped) == (3, 2, 1, 0)
