"""Token models through the command line: every recipe, both targets, all heads, untrained weights."""

import functools
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from exporters import ExportRequest, export
from exporters.commands import main as cli
from exporters.formats.base import FORMATS, load_runner
from exporters.formats.tflite.runner import TfliteRuntimeRunner
from models_tf import registry
from models_tf.checkpoints import encoder as checkpoint
from support.conversions import EVERYWHERE
from support.export_command import DOCUMENTS, assert_examples_fit_their_schema, everything_under, run
from support.reports import assert_report_is_whole
from support.tiny_models import LABELS, LENGTH, write_checkpoint

CLASSES = LABELS["classification"]


def load(folder: Path) -> dict:
    return json.loads((folder / "report.json").read_text())


@functools.cache
def saved(folder: Path, model: str = "mobilebert", task: str = "classification") -> Path:
    return write_checkpoint(folder / f"{model}-{task}", model, task)


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory):
    return functools.partial(saved, tmp_path_factory.mktemp("checkpoints"))


def assert_complete(
    folder: Path,
    recipe: str,
    *,
    labels: bool = True,
    tokenizer: tuple[str, ...] = ("tokenizer.json", "vocab.txt"),
    failed: tuple[str, ...] = (),
) -> dict:
    """What is true of every export, but for the gates that `failed`: the files, their sums, the checks, the report."""
    models = [f"model_{recipe.replace('-', '_')}.{target}" for target in ("tflite", "onnx")]
    beside = ["labels.txt"] * labels + list(tokenizer)
    report = load(folder)
    pictures = ["words.svg"] if report["explained"] else []
    expected = sorted([*models, *beside, *pictures, *DOCUMENTS, "model.json"])
    assert everything_under(folder) == expected
    assert_examples_fit_their_schema(folder)
    assert_report_is_whole(load(folder))
    assert {failure["gate"] for failure in report["failures"]} == set(failed), report["failures"]
    for file in report["files"]:
        content = (folder / file["name"]).read_bytes()
        assert file["size_bytes"] == len(content)
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
    held = {row["candidate"].split(" on ")[0]: row for row in report["parity"] if row["limit"] is not None}
    assert {"model_float32.tflite", "model_float32.onnx"} <= set(held)
    assert all(row["max_abs"] <= row["limit"] <= 1e-4 * row["scale"] * 1.001 for row in held.values())
    assert {row["candidate"] for row in report["parity"]} >= {
        f"{models[0]} on LiteRT",
        f"{models[1]} on ONNX Runtime",
    }
    assert {(row["file"], row["seq_len"]) for row in report["latency"]} == {(name, LENGTH) for name in models}
    assert report["model"]["mask_value"] < -20
    return report


@pytest.fixture(scope="session", params=EVERYWHERE)
def exported(request, checkpoints, task_rows, tmp_path_factory):
    """The command of the issue, in an empty folder."""
    folder = tmp_path_factory.mktemp(request.param)
    flags = ("--model", "mobilebert", "--checkpoint", checkpoints(), "--task", "classification")
    done = run(*flags, "--eval-data", task_rows["classification"], "--quantize", request.param, cwd=folder)
    return request.param, folder / "export-mobile-out" / f"mobilebert-mobilebert-classification-{request.param}", done


@pytest.mark.exhaustive
def test_every_recipe_is_exported_and_verified(exported):
    recipe, folder, done = exported
    assert done.returncode == 0, done.stderr
    report = assert_complete(folder, recipe)
    scores = {row["stage"]: row["score"] for row in report["accuracy"]}
    suffix = recipe.replace("-", "_")
    assert set(scores) == {"Keras", f"model_{suffix}.tflite on LiteRT", f"model_{suffix}.onnx on ONNX Runtime"}
    assert {score["n"] for score in scores.values()} == {report["data"]["eval_rows"]}
    assert all(set(score["more"]) == {"macro_f1", "matthews"} for score in scores.values())
    assert report["model"]["trained"] is True
    assert report["model"]["inputs"] == ["ids", "mask"]  # one text a row: the segment is baked in
    assert "bake_segment" in report["model"]["rewrites"]
    assert (folder / "labels.txt").read_text().splitlines() == list(CLASSES)
    assert done.stderr.index("convert to tflite") < done.stderr.index("convert to onnx")
    assert "WARNING" not in done.stderr


@pytest.mark.exhaustive
def test_model_json_and_the_examples_are_enough_to_check_another_tokenizer_and_runtime(exported):
    recipe, folder, _ = exported
    document = json.loads((folder / "model.json").read_text())
    vocabulary = (folder / "vocab.txt").read_text().split("\n")
    settings = document["tokenizer"]
    assert (vocabulary[settings["cls_id"]], vocabulary[settings["sep_id"]]) == ("[CLS]", "[SEP]")
    assert document["labels"] == list(CLASSES)
    assert document["max_seq_len"] == LENGTH
    examples = json.loads((folder / "examples.json").read_text())["examples"]
    assert len(examples) == 16
    for example in examples:
        inputs = example["inputs"]
        feed = {name: np.zeros((1, LENGTH), np.int32) for name in document["inputs"]}
        for name, row in feed.items():
            row[0, : inputs["tokens"]] = inputs[name]
        for target in FORMATS:
            name = f"model_{recipe.replace('-', '_')}.{target}"
            answer = load_runner(folder / name, inputs=tuple(document["inputs"]))(feed)
            np.testing.assert_allclose(answer["logits"][0], example["outputs"][name]["logits"], atol=1e-5)
    (output,) = document["files"][f"model_{recipe.replace('-', '_')}.tflite"]["serving_default"]["outputs"]
    assert ("scale" in output) == (recipe == "int8")


@pytest.mark.exhaustive
def test_the_same_request_gives_the_same_bytes_from_python(exported, checkpoints, task_rows, tmp_path):
    recipe, folder, _ = exported
    request = ExportRequest(
        checkpoint=checkpoints(), eval_data=task_rows["classification"], quantize=recipe, output=tmp_path / "again"
    )
    report = export(request)
    assert report.passed
    assert {file.name: file.sha256 for file in report.files} == {
        file["name"]: file["sha256"] for file in load(folder)["files"]
    }


@pytest.fixture
def main(monkeypatch):
    """The command in this process, without its signal handlers."""
    return lambda *arguments: cli.main([str(argument) for argument in arguments])


METRICS = {
    "classification": ("accuracy", {"macro_f1", "matthews"}),
    "regression": ("pearson", {"spearman"}),
    "token-classification": ("entity_f1", {"accuracy", "precision", "recall"}),
    "question-answering": ("f1", set()),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("recipe", ["float32", "int8"])
@pytest.mark.parametrize("task", list(METRICS))
def test_every_head_is_exported_and_scored_by_its_metric(main, checkpoints, task_rows, tmp_path, task, recipe, capfd):
    flags = ("--model", "mobilebert", "--checkpoint", checkpoints(task=task), "--task", task, "--quantize", recipe)
    assert main(*flags, "--eval-data", task_rows[task], "--output", tmp_path / "out") == 0, capfd.readouterr().err
    report = assert_complete(tmp_path / "out", recipe, labels=task != "question-answering")
    metric, more = METRICS[task]
    assert {row["score"]["metric"] for row in report["accuracy"]} == {metric}
    assert all(set(row["score"]["more"]) == more for row in report["accuracy"])
    assert report["model"]["task"] == task
    takes_segments = task in ("regression", "question-answering")  # rows are pairs here
    assert ("segments" in report["model"]["inputs"]) == takes_segments
    text = (tmp_path / "out" / "report.md").read_text()
    assert metric in text
    assert all(name in text for name in more)


@pytest.mark.exhaustive
@pytest.mark.parametrize("recipe", ["float32", "int8"])
def test_a_base_model_gives_hidden_states_and_needs_only_texts(checkpoints, task_rows, tmp_path, recipe):
    request = ExportRequest(
        checkpoint=checkpoints(),
        task="base",
        calibration_data=task_rows["classification"],
        quantize=recipe,
        output=tmp_path / "out",
    )
    export(request).raise_for_failures()
    report = assert_complete(tmp_path / "out", recipe, labels=False)
    assert report["accuracy"] == []
    outputs = json.loads((tmp_path / "out" / "model.json").read_text())["files"]
    names = {entry["name"] for entry in outputs[f"model_{recipe}.onnx"]["outputs"]}
    assert names == {"hidden", "pooled"}


def test_int4_through_the_command(task_rows, tmp_path):
    """A network wide enough for it. tflite-runtime 2.14 cannot run the file, and the report says so."""
    saved = write_checkpoint(tmp_path / "bert", "bert", hidden_size=32, intermediate_size=64)
    arguments = ["--checkpoint", saved, "--quantize", "int4", "--eval-data", task_rows["classification"], "--output"]
    assert cli.main([*map(str, arguments), str(tmp_path / "out"), "--json"]) == 0
    report = load(tmp_path / "out")
    assert_report_is_whole(report)
    runtimes = {file["name"]: file["min_runtime"] for file in report["files"] if file["target"] in FORMATS}
    assert runtimes == {"model_int4.tflite": "LiteRT 1.0", "model_int4.onnx": "ONNX Runtime 1.18"}
    if TfliteRuntimeRunner.installed():
        assert any(
            note.startswith("Not verified there: model_int4.tflite on tflite-runtime") for note in report["notes"]
        )
    for parity in report["parity"]:
        if parity["candidate"].startswith("model_int4"):
            assert 1e-4 * parity["scale"] < parity["max_abs"] < parity["scale"]


# Recipes tested elsewhere: by the fixture `exported`, in test_minilm_int8_tflite.py, in test_export_<model>.py.
ELSEWHERE = {
    "bert": ("int8",),
    **dict.fromkeys(("mobilebert", "powerbert", "albert", "tagger"), ("float32", "int8-dynamic", "int8")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.names(registry.TOKENS))
def test_every_token_model_of_the_registry_is_exported(name, checkpoints, task_rows, tmp_path):
    task = registry.get(name).family().heads[0]
    for recipe in (recipe for recipe in EVERYWHERE if recipe not in ELSEWHERE.get(name, ())):
        request = ExportRequest(
            checkpoint=checkpoints(name, task), eval_data=task_rows[task], quantize=recipe, output=tmp_path / recipe
        )
        export(request).raise_for_failures()
        assert_complete(tmp_path / recipe, recipe)


def small(folder: Path, output: Path, **changes) -> ExportRequest:
    return ExportRequest(
        **({"checkpoint": folder, "quantize": "float32", "target": ("onnx",), "output": output} | changes)
    )


@pytest.mark.parametrize("fold", ["full", "safe", "off"])
def test_every_way_of_folding_passes_and_is_named(checkpoints, tmp_path, fold):
    report = export(small(checkpoints(), tmp_path / "out", fold=fold))
    report.raise_for_failures()
    assert report.model["fold"] == fold
    assert (f"fold_norms ({fold})" in report.model["rewrites"]) == (fold != "off")


def test_no_fold_leaves_the_weights_as_they_are(main, checkpoints, tmp_path):
    flags = ("--checkpoint", checkpoints(), "--quantize", "float32", "--target", "onnx", "--output", tmp_path / "out")
    assert main(*flags, "--no-fold", "--json") == 0
    # What a file of any length needs all the same.
    assert load(tmp_path / "out")["model"]["rewrites"] == ["end_at_padding"]


def test_max_seq_len_is_the_longest_input(checkpoints, tmp_path):
    export(small(checkpoints(), tmp_path / "out", max_seq_len=7, target=("tflite",))).raise_for_failures()
    document = json.loads((tmp_path / "out" / "model.json").read_text())
    inputs = document["files"]["model_float32.tflite"]["serving_default"]["inputs"]
    assert {(entry["name"], tuple(entry["shape"])) for entry in inputs} == {
        (name, (1, -1)) for name in ("ids", "mask", "segments")
    }
    assert document["length"] == {"max": 7, "any": True}


def test_without_data_a_float_export_is_verified_on_generated_rows(checkpoints, tmp_path):
    report = export(small(checkpoints(), tmp_path / "out"))
    report.raise_for_failures()
    assert report.data["eval_source"] == "generated"
    assert report.accuracy == ()
    assert "segments" in report.model["inputs"]  # nobody said that there are no pairs


@pytest.mark.exhaustive
def test_random_weights_are_marked_as_untrained_everywhere(tmp_path, monkeypatch):
    from models_tf.mobilebert import config

    small_sizes = {"num_hidden_layers": 2, "vocab_size": 300, "hidden_size": 32, "intra_bottleneck_size": 16}
    monkeypatch.setitem(config.PRESETS, "tiny", {**config.TINY, **small_sizes, "embedding_size": 16})
    request = ExportRequest(
        model="mobilebert", random_init=True, preset="tiny", output=tmp_path / "out", max_seq_len=16
    )
    report = export(request)
    report.raise_for_failures()
    report = assert_complete(tmp_path / "out", "int8", tokenizer=())
    assert report["model"]["trained"] is False
    assert report["data"]["calibration_source"] == "generated"
    assert "untrained" in (tmp_path / "out" / "report.md").read_text()
    examples = json.loads((tmp_path / "out" / "examples.json").read_text())["examples"]
    assert [example["origin"] for example in examples] == ["generated"] * 16
    assert all("text" not in example and example["inputs"]["ids"] for example in examples)


def test_the_summary_says_untrained_and_parity_relative_to_the_answers(checkpoints, tmp_path):
    origin = checkpoint.load(checkpoints())
    checkpoint.save(tmp_path / "random", checkpoint.dataclasses.replace(origin, trained=False))
    text = export(small(tmp_path / "random", tmp_path / "out")).summary()
    assert re.search(r"^passed \(untrained: random weights, for size and speed only\): ", text, re.MULTILINE)
    assert "of the largest answer" in text
