"""PoWER-BERT through the command line: every recipe, both gates, what is inside the files, untrained weights.

Also a model that is trained for a few steps, exported and explained.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_export_tokens import assert_complete

from exporters.commands import main as cli
from exporters.explanation.run import explain_texts
from models_tf.checkpoints import encoder as checkpoint
from quantize.tflite.flatbuffer import read_model
from quantize.tflite.graph import op_name
from support.export_command import everything_under, run
from support.tiny_models import LABELS, write_checkpoint

CLASSES = LABELS["classification"]
RETENTION = (9, 5, 1)
ROWS = 120

Main = Callable[..., int]


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> Main:
    """The command in this process, without its signal handlers."""
    return lambda *arguments: cli.main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("powerbert") / "mine", "powerbert")


@pytest.fixture(scope="module")
def data(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts labelled with the model's own answers: it is always right, and a file loses for any other answer."""
    generator = np.random.default_rng(3)
    texts = [" ".join(map(str, generator.integers(0, 56, generator.integers(1, 14)))) for _ in range(ROWS)]
    answers = [text.answers[0].label for text in explain_texts(checkpoint.load(folder), texts).texts]
    path = tmp_path_factory.mktemp("data") / "rows.tsv"
    path.write_text("\n".join(["text\tlabel", *(f"{t}\t{a}" for t, a in zip(texts, answers, strict=True))]) + "\n")
    return path


GATES: dict[str, tuple[list[str], int, tuple[str, ...]]] = {
    "float32": (["--max-size", "1KB"], 4, ("size",)),
    "int8-dynamic": (["--max-drop", "0"], 3, ("accuracy",)),
    "int8": ([], 0, ()),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("recipe", list(GATES))
def test_every_recipe_is_exported_verified_and_held_by_its_gate(
    recipe: str, main: Main, folder: Path, data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    gate, code, failed = GATES[recipe]
    flags = ("--model", "powerbert", "--checkpoint", folder, "--eval-data", data, "--quantize", recipe)
    assert main(*flags, *gate, "--output", tmp_path / "out") == code, capfd.readouterr().err
    report = assert_complete(tmp_path / "out", recipe, failed=failed)
    scores = {row["stage"]: row["score"]["value"] for row in report["accuracy"]}
    assert scores["Keras"] == 100.0
    assert min(scores.values()) > 70  # a file that ranked tokens in another order would answer by chance
    suffix = recipe.replace("-", "_")
    model = read_model((tmp_path / "out" / f"model_{suffix}.tflite").read_bytes())
    names = [op_name(model, operator) for operator in model.subgraphs[0].operators]
    # The last layer answers for the first token alone, whatever is kept of the others.
    assert names.count("TOPK_V2") == len(RETENTION) - 1
    assert names.count("SOFTMAX") == len(RETENTION)
    onnx = next(file for file in report["files"] if file["name"] == f"model_{suffix}.onnx")
    assert onnx["ops"]["TopK"] == len(RETENTION) - 1
    _assert_explained(report, tmp_path / "out")


def _assert_explained(report: dict[str, Any], folder: Path) -> None:
    assert len(report["explained"]) == 3
    for text in report["explained"]:
        tokens = sum(len(word["places"]) for word in text["words"])
        assert [len(kept) for kept in text["layers"]] == [min(count, tokens) for count in RETENTION]
        assert text["answers"][0]["label"] in CLASSES
    document = (folder / "report.md").read_text()
    assert document.count("answer: ") == 3
    assert "![words that go on](words.svg)" in document


@pytest.mark.exhaustive
def test_untrained_weights_of_a_preset_are_exported_and_nothing_is_explained(
    main: Main, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from models_tf.powerbert import config

    sizes = {"vocab_size": 300, "hidden_size": 24, "num_attention_heads": 2, "intermediate_size": 32}
    monkeypatch.setitem(config.PRESETS, "small", {**config.SMALL, **sizes})
    flags = (
        "--model",
        "powerbert",
        "--random-init",
        "--preset",
        "small",
        "--quantize",
        "float32",
        "--target",
        "tflite",
    )
    # Shorter than what the first layers keep: they drop nothing.
    assert main(*flags, "--max-seq-len", "40", "--output", tmp_path / "out") == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert (report["model"]["name"], report["model"]["trained"], report["explained"]) == ("powerbert", False, [])
    (file,) = (file for file in report["files"] if file["target"])
    assert file["ops"]["TOPK_V2"] == sum(count < 40 for count in config.SMALL["retention"][:-1])


@pytest.mark.exhaustive
def test_a_model_is_trained_exported_and_explained(
    main: Main, data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    start = write_checkpoint(tmp_path / "bert", "bert")
    phases = ("--fine-tune-epochs", "1", "--search-epochs", "1", "--epochs", "1", "--keep-share", "0.5")
    files = ("--train", data, "--dev", data, "--output", tmp_path / "trained")
    flags = ("train", "--model", "powerbert", "--checkpoint", start, "--batch-size", "40", "--max-seq-len", "16")
    assert main(*flags, *files, *phases) == 0, capfd.readouterr().err
    retention = checkpoint.load(tmp_path / "trained").config.retention
    assert len(retention) == 2
    export = ("--checkpoint", tmp_path / "trained", "--eval-data", data, "--quantize", "float32", "--target", "onnx")
    assert main(*export, "--output", tmp_path / "out") == 0, capfd.readouterr().err
    capfd.readouterr()
    assert main("explain", "--checkpoint", tmp_path / "trained", "--data", data, "--rows", 2) == 0
    shown = capfd.readouterr().out
    assert f"2 layers keep {' '.join(map(str, retention))} tokens" in shown
    assert len(re.findall(r"^answer: (?:no|yes|perhaps) \(\d+\.\d %\)$", shown, re.MULTILINE)) == 2
    assert shown.count("layer 2   1  [CLS]") + shown.count("layer 2  1  [CLS]") == 2


def test_explain_prints_in_a_fresh_folder_and_writes_nothing(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "fresh"
    place.mkdir()
    text = "1 2 3 4 5 6 7 8 9 10 11"
    done = run("explain", "--checkpoint", folder, "--text", text, "--text", "7", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    counts = re.findall(r"^(?:input|layer \d) +(\d+)  \[CLS\]", done.stdout, re.MULTILINE)
    assert counts == ["13", "9", "5", "1", "3", "3", "3", "1"]
    assert everything_under(place) == []


def test_explain_gives_the_same_as_json(main: Main, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main("explain", "--checkpoint", folder, "--text", "1 2 3 4 5 6 7 8 9", "--json") == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["model"], found["retention"]) == ("powerbert", list(RETENTION))
    assert [len(kept) for kept in found["texts"][0]["layers"]] == [9, 5, 1]
