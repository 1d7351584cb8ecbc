"""The smallest files of every family in runtimes that others ship: tflite-runtime 2.14, TensorFlow Lite 2.12 and 2.14
for Android (64-bit ARM, emulated) and OpenVINO, against LiteRT.

tflite-runtime 2.14 is what a report names as the oldest runtime of an int8 file; OpenVINO has a reader of its own.
Each runs in a process of its own, all files in one: after TensorFlow tflite-runtime cannot be imported, and a file that
kills a runtime must not kill the tests.
"""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from exporters.formats.base import get
from quantize.tflite.flatbuffer import read_model
from quantize.tflite.graph import op_name, schema, tensor_name
from support import android_tflite, tiny_files
from support.conversions import Files

# Rows of the table of tiny models: BERT ("outliers"), PoWER-BERT ("significance") and the others by name.
FAMILIES = (
    "outliers", "mobilebert", "albert", "ghosts on heads", "ghosts on outputs", "significance", "prado", "sgnn",
)  # fmt: skip
RECIPES = ("float32", "int8")
# OpenVINO 2026.4 crashes while it fuses a sum of this graph, in float32 as well; its reader takes the file.
CRASHES_OPENVINO = ("significance",)
ROWS = 12
ANDROID_ROWS = 4  # emulated
# float32 only reorders sums. In int8, a value on the edge of a step goes the other way, and layer norms let that grow:
# a share of the largest answer.
MOST = {"float32": 1e-4, "int8": 0.06}

TFLITE_RUNTIME = """
import json, sys, numpy as np
from tflite_runtime.interpreter import Interpreter
for path, values, out in json.load(sys.stdin):
    runner, values = Interpreter(model_path=path, num_threads=1).get_signature_runner(), np.load(values)
    scale, zero = runner.get_output_details()["logits"]["quantization"]
    rows = [runner(**{name: values[name][i : i + 1] for name in values})["logits"] for i in range(ROWS)]
    found = np.concatenate(rows)
    np.save(out, (found.astype("f") - zero) * scale if found.dtype == np.int8 else found)
""".replace("ROWS", str(ROWS))
# Without its own 8-bit kernels, which overflow on x86 processors without VNNI, and without bfloat16, which it takes
# where the processor has it: what the file says is computed exactly.
OPENVINO = """
import json, sys, numpy as np, openvino
core = openvino.Core()
exact = {"LP_TRANSFORMS_MODE": False, "INFERENCE_PRECISION_HINT": "f32"}
for path, values, out in json.load(sys.stdin):
    model, values = core.compile_model(core.read_model(path), "CPU", exact), np.load(values)
    names = [value.get_any_name() for value in model.inputs]
    rows = [model({name: values[name][i : i + 1] for name in names})[0] for i in range(ROWS)]
    np.save(out, np.concatenate(rows))
""".replace("ROWS", str(ROWS))


def files(name: str) -> Files:
    return tiny_files.projection_files(name) if name in tiny_files.KINDS else tiny_files.files(name)


def values(name: str) -> dict[str, np.ndarray]:
    return {"features": tiny_files.features(ROWS)} if name in tiny_files.KINDS else tiny_files.inputs(ROWS, seed=9)


def answers(folder: Path, job: str, names: tuple[str, ...]) -> dict[tuple[str, str], np.ndarray]:
    work = []
    for name in names:
        np.savez(folder / f"{name}.npz", **values(name))
        for recipe in RECIPES:
            path = folder / f"{name} {recipe}.tflite"
            path.write_bytes(files(name).tflite(recipe))
            work.append((str(path), str(folder / f"{name}.npz"), f"{path}.npy"))
    done = subprocess.run(
        [sys.executable, "-c", job], input=json.dumps(work), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {(name, recipe): np.load(folder / f"{name} {recipe}.tflite.npy") for name in names for recipe in RECIPES}


@pytest.fixture(scope="module")
def tflite_runtime(tmp_path_factory):
    if find_spec("tflite_runtime") is None:
        pytest.skip("tflite-runtime is not installed")
    return answers(tmp_path_factory.mktemp("runtime"), TFLITE_RUNTIME, FAMILIES)


@pytest.fixture(scope="module")
def openvino(tmp_path_factory):
    if find_spec("openvino") is None:
        pytest.skip("OpenVINO is not installed")
    kept = tuple(name for name in FAMILIES if name not in CRASHES_OPENVINO)
    return answers(tmp_path_factory.mktemp("openvino"), OPENVINO, kept)


def real(name: str, recipe: str, found: np.ndarray) -> np.ndarray:
    """int8 answers of OpenVINO as numbers."""
    if found.dtype != np.int8:
        return found
    (output,) = get("tflite").open(files(name).tflite(recipe)).signatures["serving_default"].outputs
    return (found.astype(np.float32) - output.zero_point) * output.scale


def oldest(content: bytes) -> tuple[int, ...]:
    """The oldest TensorFlow Lite that the report names for a file."""
    return tuple(map(int, get("tflite").open(content).min_runtime.removeprefix("TensorFlow Lite ").split(".")))


def check(name: str, recipe: str, found: np.ndarray) -> None:
    expected = tiny_files.run_tflite(files(name).tflite(recipe), values(name))["logits"]
    assert np.abs(real(name, recipe, found) - expected).max() <= MOST[recipe] * np.abs(expected).max()


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", FAMILIES)
def test_tflite_runtime_2_14_agrees_with_litert(tflite_runtime, name, recipe):
    assert oldest(files(name).tflite(recipe)) <= (2, 14)
    check(name, recipe, tflite_runtime[name, recipe])


@pytest.fixture(scope="module", params=android_tflite.RELEASES)
def android(request, tmp_path_factory):
    """A version of TensorFlow Lite for Android, and a function that runs a file in it."""
    if missing := android_tflite.missing(request.param):
        pytest.skip(f"Needs {missing}")
    runtime = android_tflite.AndroidTflite(request.param, tmp_path_factory.mktemp("android"))
    return tuple(map(int, request.param.split("."))), runtime


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", FAMILIES)
def test_tensorflow_lite_for_android_agrees_with_litert(android, name, recipe):
    version, runtime = android
    content = files(name).tflite(recipe)
    given = values(name)
    rows = [{key: given[key][i : i + 1] for key in given} for i in range(ANDROID_ROWS)]
    assert oldest(content) <= version
    found = np.concatenate([answer["logits"] for answer in runtime.run(content, rows)])
    expected = tiny_files.run_tflite(content, given)["logits"][:ANDROID_ROWS]
    assert np.abs(real(name, recipe, found) - expected).max() <= MOST[recipe] * np.abs(expected).max()


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in CRASHES_OPENVINO])
def test_openvino_agrees_with_litert(openvino, name, recipe):
    check(name, recipe, openvino[name, recipe])


@pytest.mark.parametrize("recipe", ["float32", "fp16", "int8-dynamic", "int8", "int8-full"])
@pytest.mark.parametrize("name", FAMILIES)
def test_files_are_written_as_readers_expect(name, recipe):
    model = read_model(files(name).tflite(recipe))
    graph = model.subgraphs[0]
    names = [tensor_name(tensor) for tensor in graph.tensors]
    assert all(names)
    assert len(names) == len(set(names))
    assert max(map(len, names)) <= 12
    for code in model.operatorCodes:
        # 0 in the old field would be ADD; 127 stands for codes that do not fit, such as GELU's.
        assert code.deprecatedBuiltinCode == min(code.builtinCode, 127)
    for operator in graph.operators:
        if op_name(model, operator) == "FULLY_CONNECTED" and len(graph.tensors[operator.inputs[1]].shape) == 2:
            weights = graph.tensors[operator.inputs[1]]
            if weights.quantization is not None and len(weights.quantization.scale) > 1:
                bias = graph.tensors[operator.inputs[2]]
                assert bias.type == schema.TensorType.INT32
                assert len(bias.quantization.scale) == len(weights.quantization.scale)
