"""Bad input of `export-mobile check`: one line, exit code 2, nothing written."""

import json
import shutil
from pathlib import Path

import pytest

from exporters import CheckRequest, ExportRequest, InputError, check, export
from exporters.commands import main as cli

ROWS = "text\tlabel\nplay a song\tplay\nhello\tgreet\nbook a table\tbook\n"


@pytest.fixture(scope="module")
def whole(tiny_checkpoint, table, tmp_path_factory) -> Path:
    """An export, rows and a baseline that fit."""
    folder = tmp_path_factory.mktemp("bad") / "whole"
    folder.mkdir()
    request = ExportRequest(checkpoint=tiny_checkpoint, eval_data=table, target="tflite", output=folder / "model")
    export(request)
    (folder / "rows.tsv").write_text(ROWS)
    baseline = folder / "b.json"
    check(CheckRequest(model=folder / "model", data=folder / "rows.tsv", baseline=baseline, update_baseline=True))
    return folder


@pytest.fixture
def place(whole, tmp_path, monkeypatch) -> Path:
    """A copy, to be damaged."""
    copy = Path(shutil.copytree(whole, tmp_path / "place"))
    monkeypatch.chdir(copy)
    return copy


def edit(path: Path, change) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


TEXT, FEATURES = "model/text_int8.tflite", "model/features_int8.tflite"
WITH = ["--data", "rows.tsv", "--baseline", "b.json"]
CASES = {
    "no file": (lambda _: None, ["nowhere", "--data", "rows.tsv"], "no such file"),
    "another ending": (lambda p: (p / "model.pt").write_bytes(b"x"), ["model.pt"], ".tflite or .onnx"),
    "not a model": (lambda p: (p / TEXT).write_bytes(b"hello"), [TEXT, *WITH], "must be a .tflite file"),
    "empty file": (lambda p: (p / TEXT).write_bytes(b""), [TEXT, *WITH], "must be a .tflite file"),
    "a folder that no export wrote": (lambda p: (p / "f").mkdir(), ["f", *WITH], "which holds none"),
    "no labels": (lambda p: (p / "model/labels.txt").unlink(), [TEXT, *WITH], "needs labels.txt beside it"),
    "too few labels": (lambda p: (p / "model/labels.txt").write_text("a\n"), [TEXT, *WITH], "3 numbers"),
    "labels that are not text": (lambda p: (p / "model/labels.txt").write_bytes(b"\xff\n"), [TEXT, *WITH], "UTF-8"),
    "no projection": (lambda p: (p / "model/projection.json").unlink(), [FEATURES, *WITH], "needs projection.json"),
    "a projection of another kind": (
        lambda p: (p / "model/projection.json").write_text("[]"),
        [FEATURES, *WITH],
        'must have "format"',
    ),
    "a setting nobody knows": (
        lambda p: edit(p / "model/projection.json", lambda d: d["config"].update(colour=3)),
        [FEATURES, *WITH],
        "Unknown projection setting",
    ),
    "no data": (lambda _: None, [TEXT], "give --data FILE"),
    "data that is not there": (lambda _: None, [TEXT, "--data", "other.tsv"], "no such file"),
    "empty data": (lambda p: (p / "rows.tsv").write_text(""), [TEXT, "--data", "rows.tsv"], "rows.tsv"),
    "a header only": (
        lambda p: (p / "rows.tsv").write_text("text\tlabel\n"),
        [TEXT, "--data", "rows.tsv"],
        "Received: none",
    ),
    "data of another task": (
        lambda p: (p / "rows.tsv").write_text("text\tlabel\nhello\tspam\nyou\tham\n"),
        [TEXT, "--data", "rows.tsv"],
        "has no label 'spam'",
    ),
    "no baseline": (lambda p: (p / "b.json").unlink(), [TEXT, *WITH], "--update-baseline"),
    "a damaged baseline": (lambda p: (p / "b.json").write_text("{"), [TEXT, *WITH], "must be a baseline in JSON"),
    "a baseline of another version": (
        lambda p: edit(p / "b.json", lambda d: d.update(baseline_version=9)),
        [TEXT, *WITH],
        "of version 1. Received: version 9",
    ),
    "something else in JSON": (lambda p: (p / "b.json").write_text("[1]"), [TEXT, *WITH], "version none"),
    "a baseline without answers": (
        lambda p: edit(p / "b.json", lambda d: d["files"]["text_int8.tflite"].pop("answers")),
        [TEXT, *WITH],
        "a damaged baseline",
    ),
    "a baseline whose counts were edited": (
        lambda p: edit(p / "b.json", lambda d: d["files"]["text_int8.tflite"].update(value=77.0)),
        [TEXT, *WITH],
        "not 77",
    ),
    "a baseline of other data": (
        lambda p: (p / "rows.tsv").write_text(ROWS + "more\tplay\n"),
        [TEXT, *WITH],
        "must be the rows of the baseline",
    ),
    "a baseline of other rows": (lambda _: None, [TEXT, *WITH, "--rows", "2"], "--rows must be as in the baseline"),
    "a file that the baseline lacks": (
        lambda p: shutil.copy(p / TEXT, p / "model/new_int8.tflite"),
        ["model/new_int8.tflite", *WITH],
        "must have an entry for new_int8.tflite",
    ),
    "both comparisons": (lambda _: None, [TEXT, *WITH, "--against", FEATURES], "Received: both"),
    "a limit without a comparison": (lambda _: None, [TEXT, "--max-drop", "1"], "--max-drop needs"),
    "an update with a limit": (lambda _: None, [TEXT, *WITH, "--update-baseline", "--strict"], "--strict beside it"),
    "an update without a file": (lambda _: None, [TEXT, "--update-baseline"], "--update-baseline needs --baseline"),
    "an update in no folder": (
        lambda _: None,
        [TEXT, "--data", "rows.tsv", "--baseline", "no/where.json", "--update-baseline"],
        "--baseline must be a file in a folder that exists",
    ),
    "a wrong size": (lambda _: None, [TEXT, "--max-size", "big"], "such as 200KB"),
    "a wrong drop": (lambda _: None, [TEXT, *WITH, "--max-drop", "-1"], "from 0 to 100"),
    "a wrong ratio": (lambda _: None, [TEXT, *WITH, "--max-latency-ratio", "0"], "above 0"),
    "against a folder without it": (
        lambda p: (p / "f").mkdir(),
        [TEXT, "--data", "rows.tsv", "--against", "f"],
        "which holds none",
    ),
    "junit nowhere": (lambda _: None, [TEXT, *WITH, "--junit", "no/where.xml"], "--junit must be a file"),
    "nothing": (lambda _: None, [], "PATH"),
}


def test_ci_servers_see_why_a_check_could_not_run(place, capsys):
    (place / TEXT).write_bytes(b"hello")
    assert cli.main(["check", TEXT, *WITH, "--junit", "j.xml", "--github"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("::error title=export-mobile check::")
    assert len(err.splitlines()) == 1
    assert 'errors="1"' in (place / "j.xml").read_text()


def test_a_baseline_that_cannot_be_written_is_found_before_a_file_runs(place, monkeypatch):
    monkeypatch.setattr("exporters.checking.run.open_one", lambda _: pytest.fail("a file was opened"))
    with pytest.raises(InputError, match="a folder that exists"):
        check(CheckRequest(model=TEXT, data="rows.tsv", baseline="no/where.json", update_baseline=True))


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_one_line_and_code_2(name, place, capsys):
    damage, arguments, words = CASES[name]
    damage(place)
    before = sorted(place.rglob("*"))
    capsys.readouterr()
    assert cli.main(["check", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert words in line
    assert sorted(place.rglob("*")) == before
