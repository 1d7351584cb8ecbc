"""Bytes-in files through the export: what is written, that they answer what text-in files do, and what is refused."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from exporters import CheckRequest, ExportRequest, check, export
from exporters.commands import main as cli
from exporters.formats.base import load_runner
from exporters.formats.tflite import bytes_in
from models_tf import registry
from models_tf.checkpoints import projection as checkpoint
from models_tf.errors import InputError
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.library import HostProjection
from models_tf.sgnn.model import Sgnn
from support.export_command import LABELS, assert_examples_fit_their_schema, run
from support.tiny_models import PROJECTION

TEXTS = ["", "play some jazz", "Où est le CAFÉ? 日本", "a\0b\0", "wörter " * 60, "🎵" * 40]


def quick(folder: Path, output: Path, **changes) -> ExportRequest:
    """An export of about two seconds."""
    return ExportRequest(**({"checkpoint": folder, "quantize": "float32", "output": output} | changes))


def models(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix in (".tflite", ".onnx"))


def load(folder: Path, name: str = "report.json") -> dict:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def logits(path: Path) -> np.ndarray:
    return load_runner(path, inputs=("text",))({"text": [text.encode() for text in TEXTS]})["logits"]


def with_projection(folder: Path, to: Path, **settings) -> Path:
    """The checkpoint with other settings of its projection."""
    loaded = checkpoint.load(folder)
    config = dataclasses.replace(loaded.config, projection=dataclasses.replace(loaded.config.projection, **settings))
    checkpoint.save(to, dataclasses.replace(loaded, config=config))
    return to


@pytest.mark.exhaustive
@pytest.mark.parametrize("task", ["snips", "clinc150"])
def test_both_bundled_models_have_bytes_in_files_that_answer_as_the_text_in_files_do(task, tmp_path):
    done = run("--task", task, "--output", "out", "--max-drop", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out"
    assert models(folder) == sorted(
        f"{graph}_int8.{target}" for graph in ("bytes", "features", "text") for target in ("tflite", "onnx")
    )
    for target in ("tflite", "onnx"):
        np.testing.assert_array_equal(logits(folder / f"bytes_int8.{target}"), logits(folder / f"text_int8.{target}"))
    report, settings = load(folder), load(folder, "projection.json")
    assert report["files"][0]["name"] == "bytes_int8.tflite"
    assert all(file["min_runtime"] for file in report["files"] if file["target"])
    assert report["model"]["max_bytes"] == settings["config"]["max_bytes"] > 0
    assert settings["files"]["bytes_int8.tflite"]["serving_default"] == {
        "input": {"name": "text", "dtype": "uint8", "shape": [1, settings["config"]["max_bytes"]]},
        "output": {"name": "logits", "dtype": "float32", "shape": [1, len(registry_labels(task))]},
    }
    rows = registry.get("prado").bundled_folder(task) / "eval.tsv"
    scored = check(CheckRequest(model=folder, data=rows, rows=50)).files
    values = {file.name: file.value for file in scored}
    assert scored[0].name == "bytes_int8.onnx"
    for target in ("tflite", "onnx"):
        assert values[f"bytes_int8.{target}"] == values[f"text_int8.{target}"]


def registry_labels(task: str) -> list[str]:
    return checkpoint.load(registry.get("prado").bundled_folder(task)).labels


@pytest.mark.parametrize(
    ("graphs", "target"), [("bytes", "tflite"), ("bytes,features", "onnx"), ("text", "onnx"), ("features", "onnx")]
)
def test_only_the_graphs_that_were_asked_for_are_written_and_reported(tiny_checkpoint, tmp_path, graphs, target):
    folder = tmp_path / "out"
    report = export(quick(tiny_checkpoint, folder, graphs=graphs, target=target))
    report.raise_for_failures()
    expected = sorted(f"{graph}_float32.{target}" for graph in graphs.split(","))
    assert models(folder) == expected == sorted(file.name for file in report.model_files())
    assert {row.file for row in report.latency} == set(expected)
    assert set(load(folder, "examples.json")["files"]) == set(expected)
    assert_examples_fit_their_schema(folder)
    for name in expected:
        if name.startswith("bytes"):
            reference = f"text_float32.{target} on "
            assert any(
                row.candidate.startswith(name) and row.reference.startswith(reference) and row.limit == 0
                for row in report.parity
            )
    if "bytes" not in graphs:
        assert load(folder, "projection.json")["config"]["max_bytes"] == 0
        assert "max_bytes" not in report.model


def test_a_bytes_in_file_is_told_from_a_text_in_file_that_computes_something_else(
    tiny_checkpoint, tmp_path, monkeypatch
):
    """Its tokens end at another character."""
    made = bytes_in.bytes_in_model

    def broken(front):
        config = dataclasses.replace(front.config, token_separators="a")
        return made(dataclasses.replace(front, config=config))

    monkeypatch.setattr(bytes_in, "bytes_in_model", broken)
    report = export(quick(tiny_checkpoint, tmp_path / "out", target="tflite", graphs="bytes"))
    assert report.exit_code == 5
    assert report.failures[0].message.startswith("bytes_float32.tflite on LiteRT against text_float32.tflite on LiteRT")


@pytest.mark.parametrize("multi_label", [False, True])
def test_labels_are_answered_and_verified_on_every_row(tiny_checkpoint, tmp_path, multi_label):
    loaded = checkpoint.load(tiny_checkpoint)
    config = dataclasses.replace(loaded.config, multi_label=multi_label)
    checkpoint.save(tmp_path / "model", dataclasses.replace(loaded, config=config))
    folder = tmp_path / "out"
    report = export(quick(tmp_path / "model", folder, outputs="labels", graphs="bytes"))
    report.raise_for_failures()
    activation = "sigmoid" if multi_label else "softmax"
    checked = {row.candidate: row for row in report.parity}
    for file, runtime in (("bytes_float32.tflite", "LiteRT"), ("bytes_float32.onnx", "ONNX Runtime")):
        probabilities = checked[f"{file} on {runtime}, probabilities"]
        assert probabilities.reference == f"{activation} of its logits"
        assert (probabilities.rows, probabilities.limit) == (report.data["eval_rows"], 1e-5)
        assert checked[f"{file} on {runtime}, logit of the label"].limit == 0
        outputs = load_runner(folder / file, inputs=("text",))({"text": [text.encode() for text in TEXTS]})
        assert set(outputs) == {"logits", "probabilities", "label"}
        total = outputs["probabilities"].sum(axis=1)
        assert np.allclose(total, 1) != multi_label
    assert_examples_fit_their_schema(folder)
    further = load(folder, "projection.json")["files"]["bytes_float32.onnx"]["further_outputs"]
    assert [(one["name"], one["dtype"]) for one in further] == [("probabilities", "float"), ("label", "int32")]


def test_the_files_of_one_export_read_the_same_bytes_of_a_text(tiny_checkpoint, tmp_path):
    folder = tmp_path / "out"
    export(quick(tiny_checkpoint, folder, max_bytes=33)).raise_for_failures()
    config = ProjectionConfig.from_dict(load(folder, "projection.json")["config"])
    assert config.max_bytes == 33
    for target in ("tflite", "onnx"):
        np.testing.assert_array_equal(
            logits(folder / f"bytes_float32.{target}"), logits(folder / f"text_float32.{target}")
        )
    features = HostProjection(config).project(TEXTS)[0]
    own = load_runner(folder / "features_float32.onnx", inputs=("features",))({"features": features})["logits"]
    np.testing.assert_allclose(own, logits(folder / "text_float32.onnx"), atol=1e-4)


@pytest.mark.parametrize(("max_bytes", "room"), [(None, 128), (64, 64)])
def test_by_default_the_longest_row_fits_and_a_note_says_how_many_do_not(tiny_checkpoint, tmp_path, max_bytes, room):
    rows = ["text\tlabel", *(f"{'éééééé ' * 7}{i}\t{LABELS[i % 3]}" for i in range(9))]  # 92 bytes
    (tmp_path / "rows.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    options = {"eval_data": tmp_path / "rows.tsv", "target": "onnx", "graphs": "bytes", "max_bytes": max_bytes}
    report = export(quick(tiny_checkpoint, tmp_path / "out", **options))
    report.raise_for_failures()
    assert report.model["max_bytes"] == room
    cut = [note for note in report.notes if "rows are cut at" in note]
    assert len(cut) == (room == 64)
    assert not cut or cut[0].startswith("9 of 9 rows are cut at 64 bytes")


def test_an_sgnn_is_exported_to_bytes_in_files(tmp_path):
    generator, config = np.random.default_rng(3), dataclasses.replace(PROJECTION["sgnn"], num_labels=3)
    weights = {
        name: generator.normal(0, 0.3, value.shape).astype(np.float32)
        for name, value in checkpoint.tensors(Sgnn(config)).items()
    }
    saved = checkpoint.ProjectionCheckpoint(model_name="sgnn", config=config, labels=list(LABELS), weights=weights)
    checkpoint.save(tmp_path / "model", saved)
    export(quick(tmp_path / "model", tmp_path / "out", graphs="bytes,text")).raise_for_failures()
    for target in ("tflite", "onnx"):
        np.testing.assert_array_equal(
            logits(tmp_path / "out" / f"bytes_float32.{target}"), logits(tmp_path / "out" / f"text_float32.{target}")
        )


INEXPRESSIBLE = {"add_bos": True, "normalize_repetition": True}


def test_a_projection_that_cannot_be_expressed_leaves_the_files_out_with_a_note(tiny_checkpoint, tmp_path):
    folder = with_projection(tiny_checkpoint, tmp_path / "model", **INEXPRESSIBLE)
    report = export(quick(folder, tmp_path / "out", target="onnx"))
    report.raise_for_failures()
    assert models(tmp_path / "out") == ["features_float32.onnx", "text_float32.onnx"]
    (note,) = [note for note in report.notes if "bytes-in" in note]
    assert "normalize_repetition=True, add_bos=True" in note


@pytest.mark.parametrize("asked", [{"graphs": "bytes"}, {"max_bytes": 64}, {"outputs": "labels"}])
def test_a_projection_that_cannot_be_expressed_is_refused_where_bytes_in_files_were_asked_for(
    tiny_checkpoint, tmp_path, asked
):
    folder = with_projection(tiny_checkpoint, tmp_path / "model", add_bos=True)
    with pytest.raises(InputError, match=r"cannot express the projection setting add_bos=True\. .*features,text"):
        export(quick(folder, tmp_path / "out", **asked))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (("--graphs", "byte"), "--graphs must be some of bytes, features, text. Received: byte. Did you mean bytes?"),
        (("--graphs", ""), "--graphs must be some of bytes, features, text. Received: none."),
        (("--max-bytes", "8"), "--max-bytes must be 16 to 65536. Received: 8."),
        (("--max-bytes", "64", "--graphs", "text"), "--max-bytes is for bytes-in files. Received: --graphs text."),
        (("--outputs", "words"), "--outputs must be one of logits, labels. Received: words."),
        (
            ("--outputs", "labels", "--quantize", "int8-full", "--target", "tflite"),
            "--outputs labels needs float for the probabilities. Received: --quantize int8-full without --io float32.",
        ),
        (
            ("--model", "bert", "--random-init", "--graphs", "bytes"),
            "--graphs is for projection models (prado, sgnn). Received: the model bert.",
        ),
    ],
)
def test_bad_flags_are_one_line_and_nothing_is_written(tmp_path, monkeypatch, capsys, flags, line):
    monkeypatch.chdir(tmp_path)
    assert cli.main([*flags, "--output", "out"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"export-mobile: {line}"
    assert list(tmp_path.iterdir()) == []
