"""Sentence embeddings from a folder to checked files, in both formats: export, report, gate, check, compare."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import exporters
from exporters import CheckRequest, ExportRequest, check, compare, export
from exporters.commands import main as cli
from exporters.report.report import Report
from support.export_command import assert_examples_fit_their_schema
from support.sentence_folders import modules, write_cross_encoder, write_pairs, write_sentence_folder
from support.tiny_models import write_checkpoint

FILES = ("model_int8.tflite", "model_int8.onnx")
# int4 needs rows of 32 channels.
WIDE = {"hidden_size": 64, "intermediate_size": 64}


@pytest.fixture(scope="module")
def made(tmp_path_factory: Any) -> tuple[Path, Path, Report]:
    """An export in int8, its pairs and its report."""
    root = tmp_path_factory.mktemp("embedding")
    folder = write_sentence_folder(root / "st", settings={"max_seq_length": 12, "do_lower_case": False})
    data = write_pairs(root / "pairs.tsv", 200)
    report = export(
        ExportRequest(checkpoint=folder, quantize="int8", eval_data=data, max_drop=50.0, output=root / "out")
    )
    return root / "out", data, report


def test_the_folder_says_what_to_export(made: Any) -> None:
    _, _, report = made
    assert report.passed
    about = report.model
    assert (about["task"], about["pooling"], about["normalize"], about["embedding_size"]) == (
        "embedding", "mean", True, 24,
    )  # fmt: skip
    assert (about["max_seq_len"], about["inputs"]) == (12, ["ids", "mask"])
    assert [file.name for file in report.model_files()] == list(FILES)


def test_each_file_has_a_correlation_neighbors_and_cosines(made: Any) -> None:
    _, _, report = made
    reference, *files = report.accuracy
    assert reference.score.more["nearest_neighbors"] == reference.score.more["mean_cosine"] == pytest.approx(100)
    assert len(files) == 2
    for stage in files:
        assert stage.score.metric == "spearman"
        assert stage.score.n == report.data["eval_rows"] < 200
        assert 97 < stage.score.more["mean_cosine"] < 100
        assert stage.score.more["nearest_neighbors"] > 60
        assert stage.drop == pytest.approx(reference.score.value - stage.score.value)
    assert all(parity.argmax_agreement is None for parity in report.parity)


def test_every_form_of_the_report_shows_them(made: Any) -> None:
    folder, _, _ = made
    schema = json.loads((Path(exporters.__file__).parent / "report" / "schema" / "report-2.json").read_bytes())
    jsonschema.validate(json.loads((folder / "report.json").read_bytes()), schema)
    for name in ("report.md", "report.html"):
        text = (folder / name).read_text()
        for word in ("spearman x 100", "nearest_neighbors", "mean_cosine x 100"):
            assert word in text, (name, word)
    assert_examples_fit_their_schema(folder)


def test_the_card_has_a_call_of_each_file_that_runs(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _, _ = made
    card = (folder / "README.md").read_text()
    assert 'pipeline_tag: "sentence-similarity"' in card
    assert "nearest_neighbors" in card
    monkeypatch.chdir(folder)
    calls = [part.split("```")[0] for part in card.split("```python\n")[1:]]
    assert [name in call for call, name in zip(calls, FILES, strict=True)] == [True] * 2
    for call in calls:
        found = dict[str, Any]()
        exec(call, found)
        assert found["embedding"].shape == (24,)
        assert np.linalg.norm(found["embedding"]) == pytest.approx(1, abs=1e-3)


def test_vectors_have_length_one_in_every_file(made: Any) -> None:
    folder, _, _ = made
    document = json.loads((folder / "examples.json").read_bytes())
    shown = [example["outputs"][name]["embedding"] for example in document["examples"] for name in FILES]
    assert all(len(values) == 8 and sum(value * value for value in values) <= 1 for values in shown)
    assert json.loads((folder / "model.json").read_bytes())["embedding"] == {
        "pooling": "mean", "normalize": True, "embedding_size": 24,
    }  # fmt: skip


def test_check_finds_what_the_export_reported(made: Any, tmp_path: Path) -> None:
    folder, data, report = made
    whole = check(CheckRequest(model=folder, data=data, baseline=tmp_path / "base.json", update_baseline=True))
    assert [file.metric for file in whole.files] == ["spearman"] * 2
    assert {file.n for file in whole.files} == {200}
    again = check(CheckRequest(model=folder, data=data, baseline=tmp_path / "base.json", max_drop=0.5))
    assert again.passed
    for file in again.files:
        assert file.drop is not None
        assert (file.drop.points, file.drop.method) == (0, "bootstrap of 2000 resamples")
    some = check(CheckRequest(model=folder / FILES[1], data=data, rows=50))
    assert some.files[0].n == 50
    assert {stage.score.metric for stage in report.accuracy} == {"spearman"}


def test_check_fails_where_a_file_answers_something_else(made: Any, tmp_path: Path) -> None:
    folder, data, _ = made
    wrong = tmp_path / "pairs.tsv"
    lines = data.read_text().splitlines()
    # Scores that are the cosines of the .onnx file itself: the .tflite file is then a little worse.
    first = check(CheckRequest(model=folder / FILES[1], data=data, against=folder / FILES[0]))
    assert first.files[0].drop is not None
    assert any("nearest neighbors" in note and "mean cosine" in note for note in first.notes)
    wrong.write_text("\n".join([lines[0], *(line.rpartition("\t")[0] + "\thigh" for line in lines[1:])]) + "\n")
    assert cli.main(["check", str(folder), "--data", str(wrong)]) == 2


def test_compare_ranks_exports_by_the_correlation(made: Any) -> None:
    folder, _, _ = made
    found = compare(exporters.CompareRequest(reports=(folder,)))
    assert found.metric == "spearman"


@pytest.mark.parametrize("command", ["android", "demo"])
def test_apps_get_no_vectors_and_the_line_says_what_to_do(
    made: Any, tmp_path: Path, capsys: pytest.CaptureFixture, command: str
) -> None:
    folder, _, _ = made
    (tmp_path / "build.gradle.kts").touch()
    flags = ["--package", "com.example.app", "--output", str(tmp_path)] if command == "android" else []
    assert cli.main([command, str(folder), *flags]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "whose answers are vectors; call its files as the README.md beside them shows." in line


@pytest.mark.parametrize("pooling", ["cls", "max"])
def test_a_plain_checkpoint_takes_a_pooling_and_texts_without_scores(tmp_path: Path, pooling: str) -> None:
    folder = write_checkpoint(tmp_path / "plain", "bert", "classification")
    texts = tmp_path / "texts.tsv"
    texts.write_text("text\n" + "".join(f"{i % 50} {i % 7}\n" for i in range(120)))
    report = export(
        ExportRequest(
            model="bert", checkpoint=folder, task="embedding", pooling=pooling, calibration_data=texts,
            output=tmp_path / "out",
        )
    )  # fmt: skip
    assert report.passed
    assert (report.model["pooling"], report.model["normalize"]) == (pooling, True)
    (parity,) = [one for one in report.parity if one.candidate == "model_float32.onnx on ONNX Runtime"]
    assert parity.max_abs < 1e-5


@pytest.mark.exhaustive
@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
@pytest.mark.parametrize("recipe", ["float32", "fp16", "int4", "int8-dynamic", "int8", "int8-full"])
def test_every_recipe_makes_files_of_every_pooling(tmp_path: Path, recipe: str, pooling: str) -> None:
    folder = write_sentence_folder(
        tmp_path / "st",
        pooling={"pooling_mode": pooling},
        normalize=pooling != "max",
        encoder="0_Transformer",
        **WIDE,
    )
    data = write_pairs(tmp_path / "pairs.tsv", 120)
    target = ("tflite",) if recipe == "int8-full" else ("tflite", "onnx")
    report = export(
        ExportRequest(checkpoint=folder, quantize=recipe, target=target, eval_data=data, output=tmp_path / "out")
    )
    assert report.passed
    for stage in report.accuracy:
        assert stage.score.more["mean_cosine"] > (80 if recipe in ("int8-full", "int4") else 97), stage


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--pooling", "max"], "--pooling must be mean, as"),
        (["--pooling", "median"], "--pooling of a token model must be one of mean, cls, max. Received: median."),
        (["--task", "base", "--pooling", "mean"], "--pooling is for --task embedding. Received: --task base."),
        (["--task", "classification"], "a classification model is asked for"),
        (["--mediapipe"], "--mediapipe"),
    ],
)
def test_flags_that_contradict_the_folder_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture, flags: list[str], expected: str
) -> None:
    folder = write_sentence_folder(tmp_path / "st")
    out = tmp_path / "out"
    assert cli.main(["--checkpoint", str(folder), "--quantize", "float32", "--output", str(out), *flags]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert expected in line
    assert not out.exists()


def test_a_dense_layer_is_refused_and_named(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = write_sentence_folder(tmp_path / "st")
    (folder / "modules.json").write_text(json.dumps(modules("Transformer", "Pooling", "Dense")))
    assert cli.main(["--checkpoint", str(folder), "--quantize", "float32", "--output", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "Received: Dense. Export the encoder alone with --task base" in line


def test_a_cross_encoder_is_exported_with_its_head(tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "ce")
    data = write_pairs(tmp_path / "pairs.tsv")
    report = export(ExportRequest(checkpoint=folder, quantize="float32", eval_data=data, output=tmp_path / "out"))
    assert report.passed
    assert (report.model["task"], report.model["inputs"]) == ("regression", ["ids", "mask", "segments"])


def test_lower_case_that_the_tokenizer_does_not_do_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = write_sentence_folder(tmp_path / "st", settings={"do_lower_case": True})
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    assert cli.main(["--checkpoint", str(folder), "--quantize", "float32", "--output", str(tmp_path / "out")]) == 2
    assert "asks for lower case" in capsys.readouterr().err


def test_pooling_is_for_token_models(capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["--model", "prado", "--pooling", "mean"]) == 2
    assert "--pooling is for token models" in capsys.readouterr().err
