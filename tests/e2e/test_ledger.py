"""`ledger` on a small export: every runtime that is installed answers, and a disagreement is exit code 5."""

import json

import pytest

from support import export_command, tiny_models

pytestmark = pytest.mark.exhaustive

LABELS = ("no", "yes", "perhaps")
ROWS = 6
# Those of the test environment; LiteRT.js, ONNX Runtime Web and ARM64 need programs, and say so.
ALWAYS = {"litert", "tflite-runtime", "onnxruntime", "openvino"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("ledger")
    tiny_models.write_projection(place / "checkpoint", LABELS)
    rows = "".join(f"play {word} {'a' * (number % 7)}\t{LABELS[number % 3]}\n" for number, word in enumerate("ab" * 60))
    (place / "rows.tsv").write_text("text\tlabel\n" + rows, encoding="utf-8")
    done = export_command.run(
        "--model", "prado", "--checkpoint", "checkpoint", "--eval-data", "rows.tsv", "--quantize", "int8",
        "--graphs", "features,bytes", "--output", "export", cwd=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return place


def ledger(folder, model, *flags):
    command = ("ledger", model, "--data", "rows.tsv", "--rows", str(ROWS), "--json", *flags)
    return export_command.run(*command, cwd=folder)


def test_every_runtime_that_is_there_answers_and_a_disagreement_fails(folder, tmp_path, monkeypatch):
    # Without what a setup fetched: the emulator would take a minute, and test_check_arm64.py runs it.
    monkeypatch.setenv("EXPORT_MOBILE_CACHE", str(tmp_path))
    done = ledger(folder, "export", "--output", str(tmp_path / "ledger.md"))
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert (found["passed"], found["rows"], found["keras"]) == (True, ROWS, "")
    missing = {runtime["name"] for runtime in found["runtimes"] if runtime["missing"]}
    assert not ALWAYS & missing
    assert all("export-mobile setup arm64" in one["missing"] for one in found["runtimes"] if "arm64" in one["name"])
    ran = [one for one in found["entries"] if one["status"] in ("reference", "ran")]
    assert {one["runtime"] for one in ran} == {one["name"] for one in found["runtimes"]} - missing
    for one in ran:
        assert one["labels"] == ROWS
        assert one["same"] + one["close"] >= ROWS
        assert one["max_abs"] <= one["tolerance"]
        assert 0 <= one["keras_same"] <= ROWS
    refused = [one for one in found["entries"] if one["status"] == "refused"]
    assert ("bytes_int8.onnx", "openvino", False) in [(one["file"], one["runtime"], one["meant"]) for one in refused]
    assert all(one["message"] and one["reason"] for one in refused)
    assert (tmp_path / "ledger.md").read_text(encoding="utf-8").startswith("**PASS: ")

    examples = folder / "export" / "examples.json"
    document = json.loads(examples.read_text(encoding="utf-8"))
    document["files"]["features_int8.onnx"]["tolerance"] = -1.0
    examples.write_text(json.dumps(document), encoding="utf-8")
    done = ledger(folder, "export/features_int8.onnx")
    assert done.returncode == 5
    entries = json.loads(done.stdout)["entries"]
    assert entries
    assert not any(one["passed"] for one in entries)


def test_a_folder_without_rows_is_one_line(tmp_path):
    (tmp_path / "export").mkdir()
    done = export_command.run("ledger", "export", cwd=tmp_path)
    assert done.returncode == 2
    assert "An export folder must hold .tflite or .onnx files" in done.stderr
