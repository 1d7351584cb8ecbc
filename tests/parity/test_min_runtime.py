"""`--min-runtime 2.14`: what is accepted runs in tflite-runtime 2.14 as in LiteRT, what is refused does not run there.

A small model of every family, in every recipe.
"""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from exporters import ExportRequest, export
from exporters.formats.base import get
from exporters.verification import gate
from exporters.verification.verify import Verification
from models_tf.errors import InputError
from quantize.errors import RecipeError
from quantize.recipe import RECIPES
from support import tiny_files
from support.conversions import Files
from support.tiny_models import write_checkpoint, write_projection

VERSION = (2, 14)
# Rows of the table of tiny models: BERT ("outliers"), GhostBERT, PoWER-BERT ("significance") and the others by name.
FAMILIES = ("outliers", "mobilebert", "albert", "ghosts on heads", "significance", "prado", "sgnn")
ROWS = 12
# Of the largest answer. Float sums are in another order; scales of activations that are found while running round one
# of 255 steps otherwise; int8 values on the edge go to the step beside, which layer norms let grow, those in int8 most.
MOST = {"float32": 1e-4, "fp16": 1e-4, "int8-dynamic": 0.02, "int8": 0.06, "int8-full": 0.3}
# Runs each file; one that the runtime refuses leaves no answers.
JOB = """
import json, sys, numpy as np
from tflite_runtime.interpreter import Interpreter
for path, values, out in json.load(sys.stdin):
    values = np.load(values)
    try:
        runner = Interpreter(model_path=path, num_threads=1).get_signature_runner()
    except (RuntimeError, ValueError):
        continue
    scale, zero = runner.get_output_details()["logits"]["quantization"]
    rows = [runner(**{name: values[name][i : i + 1] for name in values})["logits"] for i in range(ROWS)]
    found = np.concatenate(rows)
    np.save(out, (found.astype("f") - zero) * scale if found.dtype == np.int8 else found)
""".replace("ROWS", str(ROWS))


def files(name: str) -> Files:
    return tiny_files.projection_files(name) if name in tiny_files.KINDS else tiny_files.files(name)


def values(name: str) -> dict[str, np.ndarray]:
    return {"features": tiny_files.features(ROWS)} if name in tiny_files.KINDS else tiny_files.inputs(ROWS, seed=9)


def content(name: str, recipe: str) -> bytes | None:
    """None where the recipe itself refuses the model."""
    try:
        return files(name).tflite(recipe)
    except RecipeError:
        return None


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[tuple[str, str], np.ndarray]:
    if find_spec("tflite_runtime") is None:
        pytest.skip("needs the package tflite-runtime")
    folder, work = tmp_path_factory.mktemp("runtime"), []
    for name in FAMILIES:
        np.savez(folder / f"{name}.npz", **values(name))
        for recipe in RECIPES:
            made = content(name, recipe)
            if made is not None:
                path = folder / f"{name} {recipe}.tflite"
                path.write_bytes(made)
                work.append((str(path), str(folder / f"{name}.npz"), f"{path}.npy"))
    done = subprocess.run(
        [sys.executable, "-c", JOB], input=json.dumps(work), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    paths = {(name, recipe): folder / f"{name} {recipe}.tflite.npy" for name in FAMILIES for recipe in RECIPES}
    return {key: np.load(path) for key, path in paths.items() if path.exists()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_file_runs_in_2_14_as_in_litert_if_and_only_if_it_is_accepted(answers, name, recipe):
    made = content(name, recipe)
    if made is None:
        assert (recipe, name in tiny_files.KINDS) == ("int4", True)
        return
    file = get("tflite").open(made)
    lacking = get("tflite").beyond(file, VERSION)
    assert (lacking == []) == (recipe != "int4") == ((name, recipe) in answers), lacking
    if lacking:
        assert "weights in 4 bits" in lacking
        return
    found = answers[name, recipe]
    expected = get("tflite").runner(file, inputs=tuple(values(name)), padded=True)(values(name))["logits"]
    limit = MOST[recipe] * np.abs(expected).max()
    assert np.abs(found - expected).max() <= limit
    # Labels are the same wherever the two best are further apart than rounding can move them.
    best = np.sort(expected, axis=1)
    clear = best[:, -1] - best[:, -2] > 2 * limit
    np.testing.assert_array_equal(found.argmax(1)[clear], expected.argmax(1)[clear])


@pytest.mark.parametrize(("name", "recipe"), [("outliers", "int8"), ("prado", "float32"), ("mobilebert", "fp16")])
def test_an_older_version_than_the_report_names_is_refused_and_that_one_is_not(name, recipe):
    file = get("tflite").open(content(name, recipe))
    major, minor = map(int, file.min_runtime.removeprefix("TensorFlow Lite ").split("."))
    assert get("tflite").beyond(file, (major, minor)) == []
    assert get("tflite").beyond(file, (major, minor - 1)) != []


def test_an_export_runs_its_files_there_and_says_so(tmp_path):
    if find_spec("tflite_runtime") is None:
        pytest.skip("needs the package tflite-runtime")
    request = ExportRequest(
        checkpoint=write_checkpoint(tmp_path / "model", "bert"),
        quantize="int8-dynamic",
        min_runtime="2.14",
        target="tflite",
        max_seq_len=16,
        output=tmp_path / "out",
    )
    report = export(request)
    assert report.passed
    assert any(parity.candidate == "model_int8_dynamic.tflite on tflite-runtime" for parity in report.parity)
    assert any("were run in tflite-runtime 2.14" in note for note in report.notes)


@pytest.mark.slow
def test_bytes_in_files_are_refused_for_2_12_with_the_remedy_and_nothing_is_written(tmp_path):
    folder = write_projection(tmp_path / "model", ["a", "b", "c"])
    wanted = {"checkpoint": folder, "quantize": "float32", "target": "tflite", "min_runtime": "2.12"}
    with pytest.raises(InputError) as error:
        export(ExportRequest(**wanted, output=tmp_path / "out"))
    assert "bytes_float32.tflite needs TensorFlow Lite 2.14 for " in str(error.value)
    assert "`min_runtime` 2.12; leave bytes-in files out: `graphs` features,text." in str(error.value)
    assert not Path(tmp_path / "out").exists()
    assert export(ExportRequest(**wanted, graphs="features,text", output=tmp_path / "out")).passed


def test_a_file_that_fails_in_the_runtime_fails_the_export_where_it_was_asked_for():
    verified = Verification(parities=(), scores=(), notes=(), refused=("x.tflite on tflite-runtime: no kernel",))
    asked, plain = (ExportRequest(min_runtime=version) for version in ("2.14", None))
    (failure,) = gate.judge(asked, verified, files=(), scheme_problems=())
    assert failure.gate == "parity"
    assert "TensorFlow Lite 2.14" in failure.message
    assert "no kernel" in failure.message
    assert gate.judge(plain, verified, files=(), scheme_problems=()) == ()
