"""Token models with several labels per text: exported, measured and checked in both formats, from file to report."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters import AndroidRequest, CheckRequest, CompareRequest, ExportRequest, android, check, compare, export
from exporters.commands import main as cli
from models_tf.tokenizers.tokenizer import Tokenizer
from support.checkpoint_folders import edit_document
from support.export_command import assert_examples_fit_their_schema
from support.reports import VALIDATOR
from support.shipped_files import copy_of, shuffled
from support.tiny_models import LENGTH, write_checkpoint

NAMES = ("no", "yes", "perhaps")
ROWS = 120


def write_rows(path: Path, separator: str = "|") -> Path:
    generator = np.random.default_rng(5)
    lines = ["text\tlabel"]
    for _ in range(ROWS):
        text = " ".join(map(str, generator.integers(0, 56, generator.integers(2, 12))))
        lines.append(f"{text}\t{separator.join(name for name in NAMES if generator.random() < 0.4)}")
    path.write_text("\n".join(lines) + "\n")
    return path


def several(folder: Path, **changes: Any) -> Path:
    """A tiny BERT that gives several labels."""
    write_checkpoint(folder, "bert", **changes)
    edit_document(folder, problem_type="multi_label_classification")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_rows(tmp_path_factory.mktemp("rows") / "rows.tsv")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    return several(tmp_path_factory.mktemp("tiny") / "tiny")


@pytest.fixture(scope="module")
def exported(checkpoint, data, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "out"
    request = ExportRequest(
        checkpoint=checkpoint, eval_data=data, calibration_data=data, max_seq_len=LENGTH, max_drop=50.0, output=folder
    )
    assert export(request).passed
    return folder


def expected_rows(data: Path) -> tuple[list[str], list[set[str]]]:
    lines = [line.split("\t") for line in data.read_text().splitlines()[1:]]
    return [text for text, _ in lines], [set(filter(None, labels.split("|"))) for _, labels in lines]


def answers_of(folder: Path, texts: list[str], threshold: float) -> list[set[str]]:
    """By ONNX Runtime alone, one text at a time."""
    import onnxruntime

    session = onnxruntime.InferenceSession(folder / "model_int8.onnx")
    tokenizer = Tokenizer.from_files({"vocab.txt": (folder / "vocab.txt").read_bytes()})
    wanted = [given.name for given in session.get_inputs()]
    found = []
    for text in texts:
        inputs = tokenizer.encode([text], None, max_len=LENGTH)
        length = int(inputs["mask"].sum())
        (logits,) = session.run(["logits"], {name: inputs[name][:, :length] for name in wanted})
        chances = 1 / (1 + np.exp(-logits[0]))
        found.append({name for name, chance in zip(NAMES, chances, strict=True) if chance >= threshold})
    return found


def f1(right: int, found: int, wanted: int) -> float:
    return 100 * 2 * right / (found + wanted)


def micro_and_macro(answers: list[set[str]], expected: list[set[str]]) -> tuple[float, float]:
    pairs = list(zip(answers, expected, strict=True))
    micro = f1(sum(len(a & e) for a, e in pairs), sum(map(len, answers)), sum(map(len, expected)))
    each = [
        f1(sum(n in a & e for a, e in pairs), sum(n in a for a in answers), sum(n in e for e in expected))
        for n in NAMES
    ]
    return micro, sum(each) / len(each)


def test_both_files_are_measured_by_f1_and_every_form_of_the_report_says_at_which_threshold(exported, data):
    report = json.loads((exported / "report.json").read_text())
    VALIDATOR.validate(report)
    assert report["model"]["multi_label"] is True
    assert report["model"]["task"] == "classification"
    scores = {stage["stage"].partition(" on ")[0]: stage["score"] for stage in report["accuracy"]}
    assert {"model_int8.onnx", "model_int8.tflite"} < set(scores)
    assert {(one["metric"], one["label_threshold"], one["n"]) for one in scores.values()} == {("micro_f1", 0.5, ROWS)}
    texts, expected = expected_rows(data)
    answers = answers_of(exported, texts, 0.5)
    micro, macro = micro_and_macro(answers, expected)
    assert scores["model_int8.onnx"]["value"] == pytest.approx(micro)
    assert scores["model_int8.onnx"]["more"] == {"macro_f1": pytest.approx(macro)}
    exact = [one == two for one, two in zip(answers, expected, strict=True)]
    assert scores["model_int8.onnx"]["exact_match"] == pytest.approx(100 * np.mean(exact))
    for name in ("report.md", "README.md"):
        assert "micro_f1 at 0.5" in (exported / name).read_text()
    page = (exported / "report.html").read_text()
    assert "icro_f1 at 0.5" in page
    for name in ("report.md", "report.html"):
        assert "macro_f1" in (exported / name).read_text()


def test_what_lies_beside_the_files_says_that_labels_are_several(exported, tmp_path):
    assert json.loads((exported / "model.json").read_text())["multi_label"] is True
    assert_examples_fit_their_schema(exported)
    (tmp_path / "build.gradle.kts").touch()
    android(AndroidRequest(folder=exported, output=tmp_path, package="com.example"))
    (kotlin,) = tmp_path.rglob("*.kt")
    assert "fun classify(text: String, threshold: Float = 0.5f): List<Label>" in kotlin.read_text()


@pytest.mark.filterwarnings("ignore:unclosed file")  # the calls are short: they read the labels and leave
def test_the_calls_of_the_card_print_every_label_of_half_a_probability(exported, monkeypatch, capsys):
    monkeypatch.chdir(exported)
    card = (exported / "README.md").read_text()
    assert "each label has a probability of its own" in card
    calls = [part.split("```")[0] for part in card.split("```python\n")[1:]]
    assert len(calls) == 2
    texts = [" ".join(map(str, range(first, first + 5))) for first in range(40)]
    expected, found = answers_of(exported, texts, 0.5), list[set[str]]()
    assert any(len(names) > 1 for names in expected)
    (call,) = [call for call in calls if ".onnx" in call]
    for text in texts:
        exec(call.replace("some text", text), {})
        found.append({line.split()[0] for line in capsys.readouterr().out.splitlines()})
    assert found == expected
    (call,) = [call for call in calls if ".tflite" in call]
    exec(call, {})
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} <= set(NAMES)


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_a_check_scores_what_the_export_reported_and_keeps_a_baseline(exported, data, tmp_path, threshold):
    texts, expected = expected_rows(data)
    micro, macro = micro_and_macro(answers_of(exported, texts, threshold or 0.5), expected)
    request = CheckRequest(
        model=exported, data=data, baseline=tmp_path / "b.json", update_baseline=True, label_threshold=threshold
    )
    found = {file.name: file for file in check(request).files}
    assert set(found) == {"model_int8.onnx", "model_int8.tflite"}
    one = found["model_int8.onnx"]
    assert (one.metric, one.label_threshold, one.n) == ("micro_f1", threshold or 0.5, ROWS)
    assert one.value == pytest.approx(micro)
    assert one.more["macro_f1"] == pytest.approx(macro)
    assert one.low <= one.value <= one.high
    again = CheckRequest(
        model=exported, data=data, baseline=tmp_path / "b.json", strict=True, label_threshold=threshold
    )
    assert check(again).passed
    assert all(file.drop.points == 0 and "bootstrap" in file.drop.method for file in check(again).files)


def test_a_baseline_of_another_threshold_is_refused(exported, data, tmp_path, capsys):
    base = ["check", str(exported), "--data", str(data), "--baseline", str(tmp_path / "b.json")]
    assert cli.main([*base, "--update-baseline"]) == 0
    shown = capsys.readouterr().out
    assert "micro_f1 at 0.5" in shown
    assert "also: macro_f1" in shown
    assert cli.main([*base, "--label-threshold", "0.3"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "micro_f1 at 0.5 of 120 rows. Received: micro_f1 at 0.3 of 120" in line


def test_a_file_that_changed_is_noticed(exported, data, tmp_path):
    copy = copy_of(exported, tmp_path / "bad")
    (copy / "model_int8.tflite").write_bytes(shuffled((exported / "model_int8.tflite").read_bytes()))
    good, bad = (folder / "model_int8.tflite" for folder in (exported, copy))
    # Random weights answer by chance: one of the two is worse, whichever it is.
    drops = [
        check(CheckRequest(model=one, data=data, against=two, strict=True)).files[0].drop.points
        for one, two in ((bad, good), (good, bad))
    ]
    assert drops[0] == pytest.approx(-drops[1])
    assert drops[0] != 0


def test_another_threshold_is_another_metric_in_a_comparison(exported, checkpoint, data, tmp_path, capsys):
    settings = {"checkpoint": checkpoint, "calibration_data": data, "max_seq_len": LENGTH, "target": "onnx"}
    high = json.loads((exported / "report.json").read_text())["accuracy"][0]["score"]["value"]
    low = export(ExportRequest(**settings, eval_data=data, label_threshold=0.3, output=tmp_path / "low"))
    assert {stage.score.label_threshold for stage in low.accuracy} == {0.3}
    assert low.accuracy[0].score.value != high
    assert cli.main(["compare", str(exported), str(tmp_path / "low")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "micro_f1 at 0.5" in line
    assert "micro_f1 at 0.3" in line
    alone = compare(CompareRequest(reports=(exported,)))
    assert alone.metric == "micro_f1 at 0.5"


def test_the_separator_of_the_rows_can_be_another_and_one_label_is_enough(tmp_path):
    folder = several(tmp_path / "one", labels=["yes"])
    rows = tmp_path / "rows.tsv"
    rows.write_text("text\tlabel\n" + "".join(f"{i} {i + 1}\t{'yes' * (i % 2)}\n" for i in range(30)))
    settings = {"quantize": "float32", "target": "onnx", "max_seq_len": LENGTH}
    report = export(ExportRequest(checkpoint=folder, eval_data=rows, output=tmp_path / "a", **settings))
    assert (report.model["task"], report.accuracy[0].score.metric) == ("classification", "micro_f1")
    assert check(CheckRequest(model=tmp_path / "a", data=rows)).files[0].metric == "micro_f1"
    three = several(tmp_path / "three")
    other = write_rows(tmp_path / "other.tsv", separator=" + ")
    found = export(
        ExportRequest(checkpoint=three, eval_data=other, label_separator="+", output=tmp_path / "b", **settings)
    )
    assert found.passed
    assert found.accuracy[0].score.n == ROWS


BAD = {
    "an unknown label": ("text\tlabel\n1 2\tyes|maybe\n3\tno\n", [], "line 2: the model has no label 'maybe'"),
    "another separator": ("text\tlabel\n1 2\tyes;no\n3\tno\n", [], "the model has no label 'yes;no'"),
    "no separator": ("text\tlabel\n1 2\tyes\n3\tno\n", ["--label-separator", ""], "--label-separator must not be"),
    "no label at all": ("text\tlabel\n1 2\t\n3\t\n", [], "at least 2 different labels to measure F1. Received: none"),
    "a threshold of 0": ("text\tlabel\n1\tyes\n3\tno\n", ["--label-threshold", "0"], "between 0 and 1. Received: 0."),
    "a threshold of 1": ("text\tlabel\n1\tyes\n3\tno\n", ["--label-threshold", "1"], "between 0 and 1. Received: 1."),
    "no number": ("text\tlabel\n1\tyes\n3\tno\n", ["--label-threshold", "nan"], "between 0 and 1. Received: nan."),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["export", "check"])
def test_bad_rows_and_thresholds_are_one_line(name, command, checkpoint, exported, tmp_path, capsys):
    content, flags, words = BAD[name]
    rows = tmp_path / "rows.tsv"
    rows.write_text(content)
    given = {
        "export": [
            "--checkpoint",
            checkpoint,
            "--quantize",
            "float32",
            "--eval-data",
            rows,
            "--output",
            tmp_path / "o",
        ],
        "check": ["check", exported, "--data", rows],
    }
    capsys.readouterr()
    assert cli.main([*map(str, given[command]), *flags]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not (tmp_path / "o").exists()


def test_a_threshold_is_refused_where_a_text_has_one_label(data, tmp_path, capsys):
    one = write_checkpoint(tmp_path / "tiny", "bert")
    flags = ["--checkpoint", str(one), "--eval-data", str(data), "--label-threshold", "0.3"]
    assert cli.main([*flags, "--output", str(tmp_path / "o")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--label-threshold is for models that give a text several labels. Received: a checkpoint with one" in line
    assert cli.main(["--model", "prado", "--label-threshold", "0.3", "--output", str(tmp_path / "o")]) == 2
    assert "--label-threshold is for models" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


@pytest.mark.slow
def test_a_head_that_gave_one_label_learns_to_give_several_by_the_command(data, tmp_path, capsys):
    write_checkpoint(tmp_path / "one", "bert")
    files = [f"--{name}={data}" for name in ("train", "dev")]
    sizes = [f"--max-seq-len={LENGTH}", "--epochs=1"]
    command = ["train", "--model", "bert", "--checkpoint", str(tmp_path / "one"), *files, *sizes, "--multi-label"]
    assert cli.main([*command, "--output", str(tmp_path / "mine")]) == 0
    assert json.loads((tmp_path / "mine" / "training.json").read_text())["metric"] == "micro_f1"
    request = ExportRequest(
        checkpoint=tmp_path / "mine", eval_data=data, quantize="float32", max_seq_len=LENGTH, output=tmp_path / "out"
    )
    assert export(request).accuracy[0].score.metric == "micro_f1"
    assert cli.main([*command, "--task", "token-classification", "--output", str(tmp_path / "no")]) == 2
    assert "--multi-label is for --task classification. Received: --task token-classification." in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "no").exists()
