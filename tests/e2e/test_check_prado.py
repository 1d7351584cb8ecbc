"""`export-mobile check` on the bundled PRADO: all four files, gates, baseline, CI formats, the pytest plugin."""

import json
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from exporters import CheckRequest, ExportRequest, check, export
from exporters.formats.isolated import IsolatedRunner
from exporters.formats.runners import RunnerError
from models_tf.data import read_table
from support.export_command import environment, run
from support.shipped_files import BUNDLED, copy_of, one_row_worse, shuffled

DATA = BUNDLED / "snips" / "eval.tsv"
GRAPHS = ("bytes", "features", "text")
FILES = [f"{graph}_int8.{target}" for graph in GRAPHS for target in ("onnx", "tflite")]
LITE = "text_int8.tflite"


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("check") / "out"
    export(ExportRequest(model="prado", quantize="int8", output=folder))
    return folder


@pytest.fixture(scope="module")
def baseline(exported, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("baseline") / "baseline.json"
    result = check(CheckRequest(model=exported, data=DATA, baseline=path, update_baseline=True))
    assert result.passed
    return path


def damaged(exported: Path, to: Path, content: bytes) -> Path:
    """The export with another text_int8.tflite alone."""
    copy_of(exported, to, LITE, "labels.txt", "projection.json")
    (to / LITE).write_bytes(content)
    return to


def test_every_file_scores_what_the_export_reported_to_the_row(exported):
    report = json.loads((exported / "report.json").read_text())
    reported = {stage["stage"].partition(" on ")[0]: stage["score"] for stage in report["accuracy"]}
    result = check(CheckRequest(model=exported, data=DATA))
    assert [file.name for file in result.files] == FILES
    for file in result.files:
        assert file.value == pytest.approx(reported[file.name]["value"])
        assert file.n == reported[file.name]["n"] == 301
        assert file.low < file.value < file.high


def test_an_export_of_a_bundled_model_brings_its_rows(exported):
    assert check(CheckRequest(model=exported / LITE)).data == str(DATA)


def test_a_file_against_its_own_baseline_passes(exported, baseline, tmp_path):
    done = run("check", exported, "--data", DATA, "--baseline", baseline, "--max-drop", "0.5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "PASS: 6 files" in done.stdout
    assert "0 rows worse, 0 better" in done.stdout
    assert re.search(r"301 rows are too few to see a drop of 0\.5 points: about [\d,]+ would do", done.stdout)
    assert done.stderr == ""


def test_shuffled_weights_fail_with_code_3_and_name_the_texts_that_flipped(exported, baseline, tmp_path):
    folder = damaged(exported, tmp_path / "bad", shuffled((exported / LITE).read_bytes()))
    done = run("check", folder, "--data", DATA, "--baseline", baseline, cwd=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "FAIL" in done.stdout.splitlines()[-1]
    texts = {row.text for row in read_table(DATA)}
    result = check(CheckRequest(model=folder, data=DATA, baseline=baseline))
    assert json.loads(result.to_json())["files"][0]["flips"][0]["row"] == result.files[0].flips[0].row
    (file,) = result.files
    assert result.exit_code == 3
    assert file.drop.low > 0
    assert file.drop.p < 1e-3
    assert file.flipped == file.drop.worse > len(file.flips) == 10
    for flip in file.flips:
        assert flip.text in texts
        assert flip.before == flip.label != flip.after
        assert " ".join(flip.text.split())[:60] in done.stdout


def test_one_row_of_301_is_chance_and_strictly_a_failure(exported, baseline, tmp_path):
    labels = (exported / "labels.txt").read_text().splitlines()
    rows = list(read_table(DATA))
    targets = np.array([labels.index(row.label) for row in rows])
    feed = {"text": [row.text.encode() for row in rows]}
    copy = one_row_worse((exported / LITE).read_bytes(), lambda logits: logits.argmax(1) == targets, feed, len(labels))
    folder = damaged(exported, tmp_path / "one", copy)
    lenient = run("check", folder / LITE, "--data", DATA, "--baseline", baseline, cwd=tmp_path)
    assert lenient.returncode == 0, lenient.stdout
    assert "1 rows worse, 0 better" in lenient.stdout
    strict = run(
        "check", folder / LITE, "--data", DATA, "--baseline", baseline, "--strict", "--max-drop", 0, cwd=tmp_path
    )
    assert strict.returncode == 3, strict.stdout


def test_another_file_takes_the_place_of_a_baseline(exported, tmp_path):
    folder = damaged(exported, tmp_path / "bad", shuffled((exported / LITE).read_bytes()))
    worse = check(CheckRequest(model=folder, data=DATA, against=exported))
    assert worse.exit_code == 3
    better = check(CheckRequest(model=exported / LITE, data=DATA, against=folder / LITE))
    assert better.passed
    assert better.files[0].drop.points == pytest.approx(-worse.files[0].drop.points)
    other_format = check(CheckRequest(model=exported / "features_int8.onnx", data=DATA, against=exported / LITE))
    assert other_format.passed


def test_size_and_latency_have_their_code(exported, baseline):
    small = check(CheckRequest(model=exported / LITE, data=DATA, max_size_bytes=100_000))
    assert (small.exit_code, [one.gate for _, one in small.failures]) == (4, ["size"])
    slow = check(CheckRequest(model=exported / LITE, data=DATA, baseline=baseline, max_latency_ratio=0.01))
    assert (slow.exit_code, [one.gate for _, one in slow.failures]) == (4, ["latency"])
    timing = (
        check(CheckRequest(model=exported / LITE, data=DATA, against=exported, max_latency_ratio=50)).files[0].timing
    )
    assert 0.02 < timing.ratio < 50
    assert timing.low <= timing.ratio <= timing.high


def test_a_baseline_of_another_processor_judges_no_latency(exported, baseline, tmp_path):
    document = json.loads(baseline.read_text())
    document["files"][LITE]["speed"]["cpu"] = "a phone"
    (tmp_path / "b.json").write_text(json.dumps(document))
    result = check(CheckRequest(model=exported / LITE, data=DATA, baseline=tmp_path / "b.json", max_latency_ratio=0.01))
    assert result.passed
    assert "another processor (a phone; this is" in result.notes[0]


def test_a_file_that_is_not_what_its_name_says_has_code_6(exported, tmp_path):
    float_folder = tmp_path / "float"
    export(ExportRequest(model="prado", quantize="float32", target="tflite", output=float_folder))
    folder = damaged(exported, tmp_path / "named", (float_folder / "text_float32.tflite").read_bytes())
    result = check(CheckRequest(model=folder, data=DATA))
    assert (result.exit_code, [one.gate for _, one in result.failures]) == (6, ["scheme"])


def test_a_baseline_is_updated_file_by_file_and_replaces_nothing_else(exported, baseline, tmp_path):
    path = tmp_path / "b.json"
    for name in FILES[:2]:
        check(CheckRequest(model=exported / name, data=DATA, baseline=path, update_baseline=True))
    assert sorted(json.loads(path.read_text())["files"]) == FILES[:2]
    assert not any(row.text in baseline.read_text() for row in read_table(DATA) if len(row.text) > 20)
    (tmp_path / "notes.txt").write_text("mine")
    done = run("check", exported / LITE, "--data", DATA, "--baseline", "notes.txt", "--update-baseline", cwd=tmp_path)
    assert done.returncode == 2
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_json_is_the_result(exported, baseline, tmp_path):
    done = run("check", exported / LITE, "--data", DATA, "--baseline", baseline, "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (found["passed"], found["exit_code"], found["check_version"]) == (True, 0, 1)
    assert found["files"][0]["n"] == 301
    assert done.stderr == ""


def test_ci_servers_get_junit_annotations_and_a_summary(exported, baseline, tmp_path):
    folder = damaged(exported, tmp_path / "bad", shuffled((exported / LITE).read_bytes()))
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    flags = ("--data", DATA, "--baseline", baseline, "--junit", "junit.xml", "--github")
    done = subprocess.run(
        [sys.executable, "-m", "exporters", "check", str(folder), *map(str, flags)],
        cwd=tmp_path,
        env={**environment(), "GITHUB_STEP_SUMMARY": str(summary)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    suite = ET.parse(tmp_path / "junit.xml").getroot()
    cases = {case.get("name"): case for case in suite}
    assert (suite.get("failures"), set(cases)) == ("1", {"score", "scheme", "accuracy"})
    assert cases["accuracy"].find("failure").get("message").startswith("expected a drop of at most 0 points")
    (error,) = (line for line in done.stdout.splitlines() if line.startswith("::error"))
    assert error.startswith(f"::error title={LITE}%3A accuracy::{LITE}: expected a drop")
    assert "95 %25" in error
    written = summary.read_text()
    assert written.startswith("before\n**FAIL")
    assert "| <code>text_int8.tflite</code> |" in written


def plugin_test(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_model.py").write_text(body)
    registered = any(point.name == "export_mobile" for point in entry_points(group="pytest11"))
    plugin = [] if registered else ["-p", "exporters.pytest_plugin"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider", "test_model.py"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_pytest_plugin_fails_a_test_with_the_reason(exported, baseline, tmp_path):
    folder = damaged(exported, tmp_path / "bad", shuffled((exported / LITE).read_bytes()))
    body = f"""
def test_good(assert_quantized_accuracy):
    result = assert_quantized_accuracy({str(exported / LITE)!r}, data={str(DATA)!r}, baseline={str(baseline)!r})
    assert result.files[0].n == 301

def test_bad(assert_quantized_accuracy):
    assert_quantized_accuracy({str(folder)!r}, data={str(DATA)!r}, baseline={str(baseline)!r}, max_drop=0.5)

def test_missing(assert_quantized_accuracy):
    assert_quantized_accuracy("nowhere.tflite", data={str(DATA)!r})
"""
    done = plugin_test(tmp_path, body)
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "accuracy: FAIL, expected a drop of at most 0.5 points beyond chance" in done.stdout
    assert "Received: nowhere.tflite (no such file)" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_runtime_that_dies_is_an_error_with_its_signal(exported):
    with IsolatedRunner(exported / LITE, inputs=("text",)) as runner:
        assert runner({"text": [b"play a song"]})["logits"].shape == (1, 7)
        os.kill(runner._worker._process.pid, signal.SIGABRT)
        with pytest.raises(RunnerError, match=rf"{LITE}: the runtime crashed on this file \(signal 6"):
            runner({"text": [b"play a song"]})
