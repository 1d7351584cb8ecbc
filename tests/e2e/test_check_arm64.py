"""`check --arch arm64`: PRADO and a small file of every family in the phone runtimes, under qemu-user."""

import json
import shutil
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from exporters import CheckArchRequest, check_arch
from exporters.runtimes import arm64
from exporters.runtimes.setup import SetupRequest, setup
from exporters.self_test.example import features_entry, tokens_entry
from models_tf.errors import InputError
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import op_name
from support import export_command, tiny_files

MISSING = [name for name in (arm64.EMULATOR, "apt-get", "dpkg-deb", "gcc") if shutil.which(name) is None]
# Of all token models of the registry: bert (with outliers), mobilebert, albert, powerbert, ghostbert; a tagger; SGNN.
FAMILIES = ("outliers", "mobilebert", "albert", "significance", "ghosts on heads", "ghosts on outputs")
TAGGER = "tagger"
# Rows that run in the emulator, and rows that show what a file differs by from float32. Runtimes whose kernels round
# otherwise may each be off by as much: with random weights tflite-runtime was seen 1.02 times that from LiteRT.
ROWS, JUDGED, TIMES = 8, 64, 2

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)} (Debian packages qemu-user, apt, dpkg, gcc)"),
]


@pytest.fixture(scope="module")
def runtimes():
    """In the cache that EXPORT_MOBILE_CACHE names, else in the user's."""
    assert str(arm64.folder()) in setup(SetupRequest(kind="arm64"))
    assert arm64.missing() == ""


@pytest.fixture(scope="module")
def families(tmp_path_factory, runtimes):
    """Files without an export around them: examples.json has the rows and the tolerances."""
    folder = tmp_path_factory.mktemp("families")
    rows, features = tiny_files.inputs(JUDGED, seed=9), tiny_files.features(JUDGED)
    files = {name: (tiny_files.files(name), rows) for name in FAMILIES}
    files[TAGGER] = (tiny_files.files("outliers", "token-classification"), rows)
    files["sgnn"] = (tiny_files.projection_files("sgnn"), {"features": features})
    tolerances = {}
    for name, (made, values) in files.items():
        for recipe in ("int8", "int4") if name == "mobilebert" else ("int8",):
            stem = f"{name.replace(' ', '_')}_{recipe}"
            (folder / f"{stem}.tflite").write_bytes(made.tflite(recipe))
            (folder / f"{stem}.onnx").write_bytes(made.onnx(recipe).SerializeToString())
            expected = tiny_files.run_tflite(made.float_tflite, values)["logits"]
            for suffix, answers in (
                (".tflite", tiny_files.run_tflite(made.tflite(recipe), values)),
                (".onnx", tiny_files.run_onnx(made.onnx(recipe), values)),
            ):
                tolerances[stem + suffix] = {"tolerance": TIMES * float(np.abs(answers["logits"] - expected).max())}
    tolerances["far_int8.tflite"] = {"tolerance": -1.0}
    write_examples(folder, rows, features, tolerances)
    return folder


def write_examples(folder, rows, features, tolerances):
    """An example has ids or features, as the files of one export do; here it has both, the features with padding."""
    examples = []
    for row in range(ROWS):
        full = len(features[row])
        given = tokens_entry(rows, row, ("ids", "mask", "segments")) | features_entry(features[row], full)
        examples.append({"inputs": given})
    document = {"format": "export-mobile-examples/1", "files": tolerances, "examples": examples}
    (folder / "examples.json").write_text(json.dumps(document))


def runs(result, runtime):
    return {file.name: run for file in result.files for run in file.runs if run.runtime == runtime}


def without_biases(content):
    model = read_model(content)
    for graph in model.subgraphs:
        for operator in graph.operators:
            if op_name(model, operator) == "FULLY_CONNECTED":
                operator.inputs = [*operator.inputs[:2], -1]
    return write_model(model)


def test_every_family_answers_as_here_and_crashes_and_differences_are_failed_verdicts(families):
    """One check for all, since emulated Python starts slowly. tflite-runtime 2.14 crashed on ARM with all int8 token
    models while their dense layers had no bias: one file has none again. Another has a tolerance that nothing meets.
    """
    (families / "crash_int8.tflite").write_bytes(
        without_biases((families / "ghosts_on_heads_int8.tflite").read_bytes())
    )
    shutil.copy(families / "outliers_int8.tflite", families / "far_int8.tflite")
    result = check_arch(CheckArchRequest(model=families))
    assert result.exit_code == 5
    failures = {(name, one.case) for name, one in result.failures}
    assert failures == {
        ("crash_int8.tflite", "parity in tflite-runtime"),
        ("far_int8.tflite", "parity in LiteRT"),
        ("far_int8.tflite", "parity in tflite-runtime"),
    }
    assert "the runtime crashed" in runs(result, "tflite-runtime")["crash_int8.tflite"].error
    assert "LiteRT 1.0" in runs(result, "tflite-runtime")["mobilebert_int4.tflite"].skipped
    for runtime, suffix in (("LiteRT", "tflite"), ("tflite-runtime", "tflite"), ("ONNX Runtime", "onnx")):
        found = runs(result, runtime)
        for name in (*FAMILIES, TAGGER, "sgnn"):
            run = found[f"{name.replace(' ', '_')}_int8.{suffix}"]
            assert not run.error + run.skipped
            assert run.instructions > 10_000
            assert run.same + run.close >= run.labels > 0


@pytest.fixture(scope="module")
def prado(tmp_path_factory, runtimes):
    folder = tmp_path_factory.mktemp("prado")
    flags = ("--model", "prado", "--task", "snips", "--quantize", "int8", "--eval-rows", "100", "--output", "export")
    done = export_command.run(*flags, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_prado_passes_and_a_regression_of_cost_fails(prado):
    """All three inputs; text-in files have the op, which is compiled for ARM."""
    reports = ("--junit", "junit.xml", "--json")
    flags = ("check", "export", "--arch", "arm64", "--baseline", "b.json")
    done = export_command.run(*flags, "--update-baseline", *reports, cwd=prado)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["files"]) == 6
    for file in found["files"]:
        for run in file["runs"]:
            assert not run["error"]
            assert run["same"] == run["labels"] == 16 or run["close"]
            assert run["skipped"] == "" or "aarch64-linux-gnu-g++" in run["skipped"]
    suite = ET.parse(prado / "junit.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")

    baseline = json.loads((prado / "b.json").read_text())
    counts = baseline["processors"]["arm64"]["files"]["features_int8.tflite"]
    counts["LiteRT"] = int(counts["LiteRT"] / 1.06)
    (prado / "b.json").write_text(json.dumps(baseline))
    one = ("check", "export/features_int8.tflite", "--arch", "arm64", "--baseline", "b.json")
    done = export_command.run(*one, "--github", cwd=prado)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "::error title=features_int8.tflite%3A instructions in LiteRT::" in done.stdout
    assert "instructions in tflite-runtime: FAIL" not in done.stdout


def test_without_the_emulator_one_line_names_the_remedy(monkeypatch, tmp_path):
    (tmp_path / "a.tflite").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt install qemu-user, then export-mobile setup arm64"):
        check_arch(CheckArchRequest(model=tmp_path))


def test_without_the_setup_one_line_names_it(monkeypatch, tmp_path):
    (tmp_path / "a.tflite").touch()
    monkeypatch.setenv("EXPORT_MOBILE_CACHE", str(tmp_path))
    with pytest.raises(InputError, match="export-mobile setup arm64"):
        check_arch(CheckArchRequest(model=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["a.tflite"]
