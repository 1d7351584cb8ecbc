"""The whole export through the command line: both bundled models, every recipe, every gate."""

import base64
import dataclasses
import hashlib
import json
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from exporters import ExportRequest, VerifyRequest, export, verify
from exporters.commands import main as cli
from exporters.errors import AccuracyError, SizeError
from exporters.formats.onnx import audit as onnx_audit
from exporters.formats.tflite import audit as tflite_audit
from models_tf import registry
from models_tf.folders import manifest
from models_tf.ops.projection import reference
from models_tf.ops.projection.config import ProjectionConfig
from quantize.recipe import RECIPES
from support.conversions import EVERYWHERE
from support.export_command import DOCUMENTS, LABELS, assert_examples_fit_their_schema, everything_under, run
from support.reports import assert_report_is_whole

KB = 1024


def load(folder: Path) -> dict:
    return json.loads((folder / "report.json").read_text())


def assert_complete(folder: Path, recipe: str, lengths: tuple[int, ...] = (32, 128, 512)) -> dict:
    """What is true of every export that passes: the files, their sums, the checks, the report, times at `lengths`."""
    suffix = recipe.replace("-", "_")
    models = [f"{graph}_{suffix}.{target}" for graph in ("bytes", "features", "text") for target in ("tflite", "onnx")]
    assert everything_under(folder) == sorted([*models, *DOCUMENTS, "labels.txt", "projection.json"])
    assert_examples_fit_their_schema(folder)
    assert_report_is_whole(load(folder))
    report = load(folder)
    assert report["passed"]
    assert report["exit_code"] == 0
    assert report["failures"] == []
    for file in report["files"]:
        content = (folder / file["name"]).read_bytes()
        assert file["size_bytes"] == len(content)
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
    by_name = {file["name"]: file for file in report["files"]}
    for name in models:
        assert by_name[name]["weight_bytes"] + by_name[name]["overhead_bytes"] == by_name[name]["size_bytes"]
        assert by_name[name]["ops"]
        assert by_name[name]["dtypes"]
        assert "SUM" not in by_name[name]["ops"]
    custom = {
        name: "ExportMobileSequenceProjection" if name.endswith("tflite") else "SequenceProjection" for name in models
    }
    for name in models:
        assert (custom[name] in by_name[name]["ops"]) == name.startswith("text")
    limits = [(row["candidate"], row["limit"], row["max_abs"]) for row in report["parity"] if row["limit"] is not None]
    assert all(difference <= limit for _, limit, difference in limits)
    exact = {candidate.split(" on ")[0] for candidate, limit, _ in limits if limit == 0}
    assert exact >= {name for name in models if name.startswith(("bytes", "text"))}
    assert {(row["file"], row["seq_len"]) for row in report["latency"]} >= {
        (name, length) for name in models if name.startswith("features") for length in lengths
    }
    assert report["versions"]["tensorflow"]
    assert "does not predict a phone" in (folder / "report.md").read_text()
    return report


@pytest.fixture(scope="session")
def snips(tmp_path_factory):
    """The README's command, in an empty folder."""
    folder = tmp_path_factory.mktemp("snips")
    return folder, run("--model", "prado", "--quantize", "int8", cwd=folder)


@pytest.fixture(scope="session")
def clinc150(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinc150")
    return folder, run(
        "--task", "clinc150", "--target", "tflite", "--output", "out", "--json", "--max-drop", "2", cwd=folder
    )


@pytest.mark.exhaustive
def test_the_default_run_writes_verified_files_of_both_formats(snips):
    folder, done = snips
    assert done.returncode == 0, done.stderr
    report = assert_complete(folder / "export-mobile-out" / "prado-snips-int8", "int8")
    assert report["data"]["eval_rows"] >= 280
    assert {row["stage"] for row in report["accuracy"]} >= {
        "Keras",
        "bytes_int8.tflite on LiteRT",
        "bytes_int8.onnx on ONNX Runtime",
        "text_int8.tflite on LiteRT",
        "text_int8.onnx on ONNX Runtime",
    }
    for row in report["accuracy"]:
        assert row["score"]["n"] == report["data"]["eval_rows"]
        assert row["score"]["value"] > 80
        assert row["drop"] <= 2.0


@pytest.mark.exhaustive
def test_the_default_run_prints_stages_on_stderr_and_a_summary_on_stdout(snips):
    _, done = snips
    assert done.stderr.index("convert to tflite") < done.stderr.index("convert to onnx")
    assert "text_int8.tflite" in done.stdout
    assert done.stdout.splitlines()[-1] == "passed: export-mobile-out/prado-snips-int8"
    assert "WARNING" not in done.stderr


@pytest.mark.exhaustive
def test_the_snips_file_is_at_most_150_kb_with_an_exact_integer_input(snips):
    folder = snips[0] / "export-mobile-out" / "prado-snips-int8"
    (record,) = [file for file in load(folder)["files"] if file["name"] == "text_int8.tflite"]
    assert record["size_bytes"] <= 150 * KB
    assert record["overhead_bytes"] <= 15 * KB
    # The softmax is float: XNNPACK has none in int8.
    assert set(record["dtypes"]) <= {"int8", "int32", "string", "float32"}
    interface = json.loads((folder / "projection.json").read_text())["files"]["features_int8.tflite"]
    for signature in ("serving_default", "batch_8"):
        given = interface[signature]["input"]
        assert (given["name"], given["dtype"], given["scale"], given["zero_point"]) == ("features", "int8", 1.0, 0)


@pytest.mark.exhaustive
def test_a_second_run_is_refused_before_the_work(snips):
    folder, _ = snips
    done = run("--model", "prado", "--quantize", "int8", cwd=folder, timeout=5)
    assert done.returncode == 2
    assert "--force" in done.stderr


@pytest.mark.exhaustive
def test_the_clinc150_file_is_at_most_200_kb_and_json_is_all_that_is_printed(clinc150):
    folder, done = clinc150
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report == load(folder / "out")
    assert report["target"] == ["tflite"]
    assert report["model"]["num_labels"] == 150
    assert report["data"]["eval_rows"] >= 300
    (record,) = [file for file in report["files"] if file["name"] == "text_int8.tflite"]
    assert record["size_bytes"] <= 204_800


@pytest.fixture(scope="session", params=EVERYWHERE)
def exported(request, tiny_checkpoint, table, tmp_path_factory):
    """The tiny model in every recipe."""
    folder = tmp_path_factory.mktemp(request.param)
    done = run(
        "--checkpoint",
        tiny_checkpoint,
        "--eval-data",
        table,
        "--quantize",
        request.param,
        "--output",
        "out",
        cwd=folder,
    )
    return request.param, folder / "out", done


@pytest.mark.exhaustive
def test_every_recipe_is_exported_and_verified(exported):
    recipe, folder, done = exported
    assert done.returncode == 0, done.stderr
    report = assert_complete(folder, recipe)
    assert (folder / "labels.txt").read_text().splitlines() == LABELS
    names = {row["candidate"] for row in report["parity"]}
    for name in ("features_float32.tflite on LiteRT", "features_float32.onnx on ONNX Runtime"):
        assert name in names


@pytest.mark.exhaustive
def test_the_same_request_gives_the_same_bytes_from_python(exported, tiny_checkpoint, table, tmp_path):
    recipe, folder, _ = exported
    report = export(
        ExportRequest(checkpoint=tiny_checkpoint, eval_data=table, quantize=recipe, output=tmp_path / "again")
    )
    assert report.passed
    assert {file.name: file.sha256 for file in report.files} == {
        file["name"]: file["sha256"] for file in load(folder)["files"]
    }


@pytest.mark.exhaustive
def test_projection_json_is_enough_to_compute_the_features_of_the_examples(exported):
    _, folder, _ = exported
    document = json.loads((folder / "projection.json").read_text())
    config = ProjectionConfig.from_dict(document["config"])
    assert config.to_text() == document["config_text"]
    for example in json.loads((folder / "examples.json").read_text())["examples"]:
        wanted = example["inputs"]["features"]
        rows = np.zeros(wanted["shape"], np.int8)
        computed = reference.project_text(config, example["text"])[: example["inputs"]["tokens"]]
        if computed:
            rows[: len(computed)] = computed
        assert rows.shape == (document["max_seq_len"], document["feature_size"])
        assert hashlib.sha256(rows.tobytes()).hexdigest() == wanted["sha256"]
        packed = np.frombuffer(zlib.decompress(base64.b64decode(wanted["rows"])), np.int8)
        assert packed.tolist() == rows[: example["inputs"]["tokens"]].reshape(-1).tolist()


def quick(tiny_checkpoint, output, **changes) -> ExportRequest:
    """An export of about a second."""
    return ExportRequest(
        **({"checkpoint": tiny_checkpoint, "quantize": "float32", "target": ("onnx",), "output": output} | changes)
    )


def test_an_export_is_made_again_byte_for_byte_and_a_difference_is_named(
    main, tiny_checkpoint, tmp_path, capfd, monkeypatch
):
    folder = tmp_path / "out"
    export(quick(tiny_checkpoint, folder))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert main("verify", folder, "--rebuild") == 0
    found = capfd.readouterr()
    assert "made again are the same byte for byte" in found.out
    assert "convert to onnx" in found.err
    assert not [path.name for path in (tmp_path / "temporary").iterdir() if "rebuild" in path.name]
    document = json.loads((folder / manifest.FILE).read_text())
    document["files"]["features_float32.onnx"]["sha256"] = "0" * 64  # as if another version had written it
    (folder / manifest.FILE).write_text(json.dumps(document))
    result = verify(VerifyRequest(folder=folder, rebuild=True))
    assert [(problem.kind, problem.file) for problem in result.problems] == [
        ("changed", "features_float32.onnx"),
        ("different", "features_float32.onnx"),
    ]
    assert result.notes == ("All versions are the same as then.",)
    assert result.exit_code == 5


@pytest.fixture
def main(monkeypatch):
    """The command in this process, without its signal handlers."""
    return lambda *arguments: cli.main([str(argument) for argument in arguments])


def flags(tiny_checkpoint, output, *more):
    return ("--checkpoint", tiny_checkpoint, "--quantize", "float32", "--target", "onnx", "--output", output, *more)


def test_a_file_above_max_size_is_exit_code_4_and_is_written_all_the_same(main, tiny_checkpoint, tmp_path, capfd):
    assert main(*flags(tiny_checkpoint, tmp_path / "out", "--max-size", "1KB")) == 4
    report = load(tmp_path / "out")
    assert not report["passed"]
    assert [failure["gate"] for failure in report["failures"]] == ["size"] * 3
    captured = capfd.readouterr()
    assert "size gate failed: features_float32.onnx: expected at most 1024 bytes" in captured.err
    assert "FAILED (size)" in captured.out


def test_parity_out_of_tolerance_is_exit_code_5(main, tiny_checkpoint, tmp_path, monkeypatch):
    monkeypatch.setitem(RECIPES, "float32", dataclasses.replace(RECIPES["float32"], atol=0.0))
    assert main(*flags(tiny_checkpoint, tmp_path / "out", "--max-size", "1KB")) == 5
    assert {failure["gate"] for failure in load(tmp_path / "out")["failures"]} == {"parity", "size"}


def test_a_scheme_that_was_not_reached_is_exit_code_6(main, tiny_checkpoint, tmp_path, monkeypatch):
    for audits in (onnx_audit.AUDITS, tflite_audit.AUDITS):
        monkeypatch.setitem(audits, "float32", lambda file: ["Conv computes in float"])
    assert main(*flags(tiny_checkpoint, tmp_path / "out")) == 6
    assert "Conv computes in float" in load(tmp_path / "out")["failures"][0]["message"]


@pytest.fixture
def own_predictions(tiny_checkpoint, table, tmp_path):
    """The rows labelled by the model itself: float is right on all of them, and what quantization changes is lost."""
    from models_tf.checkpoints import projection as checkpoint
    from models_tf.ops.projection.library import HostProjection

    loaded = checkpoint.load(tiny_checkpoint)
    texts = [line.split("\t")[0] for line in table.read_text().splitlines()[1:]]
    projection = HostProjection(dataclasses.replace(loaded.config.projection, pad_to=loaded.config.max_seq_len))
    logits = checkpoint.build(loaded).features_to_logits(projection.project(texts)[0]).numpy()
    path = tmp_path / "own.tsv"
    rows = [f"{text}\t{LABELS[label]}" for text, label in zip(texts, logits.argmax(axis=1), strict=True)]
    path.write_text("\n".join(["text\tlabel", *rows]) + "\n")
    return path


def test_accuracy_lost_beyond_max_drop_is_exit_code_3(main, tiny_checkpoint, own_predictions, tmp_path):
    # One word gives ranges in which few real texts fit.
    (tmp_path / "poor.tsv").write_text("text\tlabel\na\tbook\n")
    arguments = ("--checkpoint", tiny_checkpoint, "--eval-data", own_predictions, "--target", "tflite")
    poor = ("--calibration-data", tmp_path / "poor.tsv", "--max-drop", "0.5")
    assert main(*arguments, *poor, "--output", tmp_path / "strict") == 3
    report = load(tmp_path / "strict")
    assert report["accuracy"][0]["score"]["value"] == 100.0
    assert {failure["gate"] for failure in report["failures"]} == {"accuracy"}


def test_python_callers_get_a_report_and_an_exception_when_they_ask(tiny_checkpoint, tmp_path):
    report = export(quick(tiny_checkpoint, tmp_path / "out", max_size_bytes=1000))
    assert not report.passed
    assert report.exit_code == SizeError.exit_code != AccuracyError.exit_code
    with pytest.raises(SizeError, match="1000 bytes"):
        report.raise_for_failures()


def test_force_replaces_an_older_export(tiny_checkpoint, tmp_path):
    for force in (False, True):
        report = export(quick(tiny_checkpoint, tmp_path / "out", force=force))
    assert report.passed
    names = {"examples.json", "labels.txt", "manifest.json", "projection.json", "README.md"}
    names |= {"report.html", "report.json", "report.md"}
    assert {path.name for path in (tmp_path / "out").iterdir() if not path.name.endswith((".tflite", ".onnx"))} == names
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_max_seq_len_changes_the_static_shape(tiny_checkpoint, tmp_path):
    export(quick(tiny_checkpoint, tmp_path / "out", max_seq_len=5)).raise_for_failures()
    document = json.loads((tmp_path / "out" / "projection.json").read_text())
    assert document["max_seq_len"] == document["config"]["pad_to"] == 5
    assert document["files"]["features_float32.onnx"]["input"]["shape"] == ["batch", "length", 64]


# 16 channels: an axis that could be taken for time. One token: an axis like all others of size 1.
@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 16])
def test_lengths_that_look_like_other_axes_are_exported_to_int8(tiny_checkpoint, table, tmp_path, length):
    report = export(
        quick(
            tiny_checkpoint,
            tmp_path / "out",
            max_seq_len=length,
            quantize="int8",
            eval_data=table,
            target="tflite,onnx",
        )
    )
    report.raise_for_failures()
    timed = {row.seq_len for row in report.latency}
    assert timed == {length, 32, 128, 512}
    assert not any("not timed" in note for note in report.notes)


@pytest.mark.filterwarnings("ignore:unclosed file")  # the calls are short: they read the labels and leave
def test_a_multi_label_model_is_judged_by_micro_f1_and_its_card_prints_several(
    tiny_checkpoint, tmp_path, monkeypatch, capsys
):
    from models_tf.checkpoints import projection as checkpoint

    loaded = checkpoint.load(tiny_checkpoint)
    config = dataclasses.replace(loaded.config, multi_label=True)
    checkpoint.save(tmp_path / "multi", dataclasses.replace(loaded, config=config))
    rows = tmp_path / "rows.tsv"
    rows.write_text("text\tlabel\nhello you\tgreet|play\nbook it\tbook\nnothing\t\n")
    report = export(quick(tmp_path / "multi", tmp_path / "out", eval_data=rows))
    assert report.passed
    assert {row.score.metric for row in report.accuracy} == {"micro_f1"}
    assert all(row.score.exact_match is not None for row in report.accuracy)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "each label has a probability of its own" in card
    assert "argmax" not in card
    monkeypatch.chdir(tmp_path / "out")
    exec(card.split("```python\n")[1].split("```")[0], {})
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} <= set(LABELS)


def test_a_model_name_that_is_not_the_checkpoints_is_refused(main, tiny_checkpoint, tmp_path, capsys):
    assert main(*flags(tiny_checkpoint, tmp_path / "out", "--model", "sgnn")) == 2
    assert "prado. Received: sgnn" in capsys.readouterr().err
    assert everything_under(tmp_path) == []


@pytest.mark.parametrize("name", [name for name in registry.names(registry.PROJECTION) if name != "prado"])
def test_the_other_projection_models_of_the_registry_are_exported_to_int8(name, table, tmp_path):
    from models_tf.checkpoints import projection as checkpoint

    entry = registry.get(name)
    projection = ProjectionConfig(feature_size=64, features="mixed", presence_feature=True)
    config = entry.config_class()(num_labels=len(LABELS), max_seq_len=12, projection=projection)
    weights = checkpoint.tensors(entry.model_class()(config))
    checkpoint.save(
        tmp_path / name, checkpoint.ProjectionCheckpoint(model_name=name, config=config, labels=LABELS, weights=weights)
    )
    report = export(ExportRequest(checkpoint=tmp_path / name, eval_data=table, output=tmp_path / "out"))
    report.raise_for_failures()
    assert_complete(tmp_path / "out", "int8", lengths=(config.max_seq_len,))  # SGNN takes one
