"""The base install for real: a virtual environment with the wheel and its dependencies, and no extra."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from exporters import ExportRequest, export
from support.base_install import base_environment
from support.shipped_files import BUNDLED
from support.tiny_models import LENGTH, write_checkpoint

pytestmark = pytest.mark.exhaustive

TEXTS = ["play a song", "book a table for two", "日本 é", ""]
# Text-in files of both formats, with the projection op that the wheel brings. Runs in the base install.
RUN = """
import importlib.util, json, sys
import numpy as np
import onnxruntime
from models_tf.ops.projection import ort_loader, tflite_loader

assert importlib.util.find_spec("tensorflow") is None
texts, folder = json.loads(sys.argv[1]), sys.argv[2]
runner = tflite_loader.interpreter(open(f"{folder}/text_int8.tflite", "rb").read()).get_signature_runner()
(scale, zero_point) = runner.get_output_details()["logits"]["quantization"]
lite = [(runner(text=np.array([text.encode(), b""], object)[:1])["logits"][0].astype(np.float32) - zero_point) * scale
        for text in texts]
session = onnxruntime.InferenceSession(f"{folder}/text_int8.onnx", ort_loader.session_options_with_projection())
onnx = session.run(["logits"], {"text": np.array(texts, object)})[0]
print(json.dumps([np.array(lite).tolist(), onnx.tolist()]))
"""


def called(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    """The environment's folder of programs."""
    return base_environment(tmp_path_factory.mktemp("base"))


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["models"]])
def test_the_base_install_answers(base, arguments, tmp_path):
    done = called(base / "export-mobile", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_a_command_that_needs_the_extra_names_the_line_that_installs_it(base, tmp_path):
    done = called(base / "export-mobile", "--model", "prado", "--quantize", "int8", cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert 'pip install "export-mobile[export]"' in line
    assert not any(tmp_path.iterdir())
    # The line works where no index has export-mobile: pip reads the extra's list from what is installed.
    resolved = called(base / "pip", "install", "--dry-run", "--no-deps", "export-mobile[export]", cwd=tmp_path)
    assert resolved.returncode == 0, resolved.stderr


def test_shipped_files_run_in_the_base_install(base, tmp_path):
    made = called(
        sys.executable,
        "-m",
        "exporters",
        "--model",
        "prado",
        "--quantize",
        "int8",
        "--output",
        tmp_path / "out",
        cwd=Path.cwd(),
    )
    assert made.returncode == 0, made.stderr
    done = called(base / "python", "-c", RUN, json.dumps(TEXTS), tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lite, onnx = map(np.array, json.loads(done.stdout))
    assert lite.shape == onnx.shape == (len(TEXTS), 7)
    # int8 of two runtimes, each within two steps of the float logits.
    np.testing.assert_allclose(lite, onnx, atol=1.0)
    np.testing.assert_array_equal(lite.argmax(1)[:2], onnx.argmax(1)[:2])
    names = [f"out/{graph}_int8.{ending}" for graph in ("text", "features") for ending in ("tflite", "onnx")]
    timed = called(base / "export-mobile", "bench", *names, "--rounds", 5, "--json", cwd=tmp_path)
    assert timed.returncode == 0, timed.stderr
    assert [file["path"] for file in json.loads(timed.stdout)["files"]] == names
    for name in names:
        shown = called(base / "export-mobile", "inspect", name, "--json", cwd=tmp_path)
        assert shown.returncode == 0, shown.stderr
        assert json.loads(shown.stdout)["plan"]["problem"] == ""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "build.gradle.kts").touch()
    android = ["android", "out", "--package", "com.example.app", "--output", "app"]
    for arguments in (["verify", "out"], ["compare", "out"], ["compare", "out", "--format", "markdown"], android):
        done = called(base / "export-mobile", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "out" in done.stdout
    assert (tmp_path / "app" / "src" / "main" / "java" / "exportmobile" / "Tokenizer.java").is_file()
    for arguments in (["verify", "out", "--rebuild"], ["compare", "out", "--output", "page.html"]):
        done = called(base / "export-mobile", *arguments, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert 'pip install "export-mobile[export]"' in done.stderr.splitlines()[0]
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("model", ["prado", "bert"])
def test_check_scores_what_the_export_reported_in_the_base_install(base, model, tmp_path):
    rows = BUNDLED / "snips" / "eval.tsv"
    request = ExportRequest(model="prado", output=tmp_path / "out")
    if model == "bert":
        rows = tmp_path / "rows.tsv"
        texts = [f"{number} {number + 1}\t{label}" for number, label in enumerate(["no", "yes", "perhaps"] * 18)]
        rows.write_text("\n".join(["text\tlabel", *texts]) + "\n")
        request = ExportRequest(
            model="bert",
            checkpoint=write_checkpoint(tmp_path / "tiny", "bert"),
            eval_data=rows,
            calibration_data=rows,
            max_seq_len=LENGTH,
            output=tmp_path / "out",
        )
    report = export(request)
    done = called(base / "export-mobile", "check", tmp_path / "out", "--data", rows, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    reported = {stage.stage.partition(" on ")[0]: stage.score for stage in report.accuracy}
    found = json.loads(done.stdout)["files"]
    assert {Path(file["name"]).suffix for file in found} == {".tflite", ".onnx"}
    for file in found:
        assert file["value"] == pytest.approx(reported[file["name"]].value)
        assert file["n"] == reported[file["name"]].n
