"""Files of GhostBERT, both forms: numbers against float, structure, the schemes' audit, padding, every runtime."""

import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from typing import Any

import numpy as np
import onnx
import pytest

from exporters.formats.base import get
from models_tf.encoder.config import GHOST_FORMS
from models_tf.encoder.graph import NetworkGraph
from quantize.ranges import CalibrationRanges
from quantize.recipe import RECIPES
from quantize.tflite.flatbuffer import read_model
from quantize.tflite.graph import op_name, schema
from support import tiny_files

VALUES = tiny_files.inputs(40, seed=9)
LAYERS, MODULES = 2, 4  # attention and FFN of two layers
MAKERS = ("DEPTHWISE_CONV_2D", "ADD")  # a ghost of several images is a sum
# The limits of test_quantize_encoder_tflite.py.
SHARE = {"float32": 1e-4, "fp16": 0.01, "int8-dynamic": 0.1, "int8": 0.1}
CORRELATION = {"float32": 0.99999, "fp16": 0.9999, "int8-dynamic": 0.995, "int8": 0.995}


def graph(form: str, head: str = "classification") -> NetworkGraph:
    return tiny_files.graph(f"ghosts on {form}", head)


def tflite(recipe: str, form: str, head: str = "classification") -> bytes:
    return tiny_files.files(f"ghosts on {form}", head).tflite(recipe)


def onnx_ranges(form: str, head: str = "classification") -> CalibrationRanges:
    return tiny_files.files(f"ghosts on {form}", head).onnx_ranges


def onnx_model(recipe: str, form: str, head: str = "classification") -> onnx.ModelProto:
    return tiny_files.files(f"ghosts on {form}", head).onnx(recipe)


def follows(found: dict[str, np.ndarray], form: str, recipe: str, *, rounds_outputs: bool = False) -> None:
    expected = graph(form).predict(VALUES)["logits"]
    if rounds_outputs:
        # One row of the form `outputs` has logits beyond all that were calibrated on, and an int8 output ends there.
        expected = np.clip(expected, *tiny_files.files(f"ghosts on {form}").tflite_ranges.ranges["logits"])
    assert np.abs(found["logits"] - expected).max() <= SHARE[recipe] * np.ptp(expected)
    assert np.corrcoef(found["logits"].ravel(), expected.ravel())[0, 1] > CORRELATION[recipe]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", SHARE)
@pytest.mark.parametrize("form", GHOST_FORMS)
def test_a_tflite_file_follows_the_float_network_and_is_what_the_recipe_says(form: str, recipe: str) -> None:
    content = tflite(recipe, form)
    follows(tiny_files.run_tflite(content, VALUES), form, recipe, rounds_outputs=recipe == "int8")
    found = get("tflite").open(content)
    assert found.audit(RECIPES[recipe]) == []
    assert found.min_runtime == ("TensorFlow Lite 2.12" if recipe == "int8" else "TensorFlow Lite 2.9")


@pytest.mark.parametrize("recipe", SHARE)
@pytest.mark.parametrize("form", GHOST_FORMS)
def test_an_onnx_file_follows_the_float_network_and_is_what_the_recipe_says(form: str, recipe: str) -> None:
    model = onnx_model(recipe, form)
    follows(tiny_files.run_onnx(model, VALUES), form, recipe)
    assert get("onnx").open(model.SerializeToString()).audit(RECIPES[recipe]) == []


RUNTIME_JOB = """
import sys, numpy as np
from tflite_runtime.interpreter import Interpreter
runner = Interpreter(model_path=sys.argv[1], num_threads=1).get_signature_runner()
scale, zero = runner.get_output_details()["logits"]["quantization"]
values = np.load(sys.argv[2])
rows = [runner(**{name: values[name][i : i + 1] for name in values})["logits"] for i in range(len(values["ids"]))]
found = np.concatenate(rows)
np.save(sys.argv[3], (found.astype("f") - zero) * scale if found.dtype == np.int8 else found)
"""


@pytest.mark.skipif(find_spec("tflite_runtime") is None, reason="tflite-runtime is not installed")
@pytest.mark.parametrize("recipe", SHARE)
@pytest.mark.parametrize("form", GHOST_FORMS)
def test_tflite_runtime_2_14_runs_the_file(form: str, recipe: str, tmp_path: Any) -> None:
    (tmp_path / "model.tflite").write_bytes(tflite(recipe, form))
    np.savez(tmp_path / "in.npz", **VALUES)
    # A process of its own: after TensorFlow the runtime cannot be imported.
    paths = [str(tmp_path / name) for name in ("model.tflite", "in.npz", "out.npy")]
    subprocess.run([sys.executable, "-c", RUNTIME_JOB, *paths], check=True, capture_output=True)
    follows({"logits": np.load(tmp_path / "out.npy")}, form, recipe, rounds_outputs=recipe == "int8")


def ghosts_and_sums(form: str) -> tuple[int, int]:
    """How many ghosts there are, and how many sums of groups are convolutions as well."""
    config = graph(form).network.config
    return sum(config.ghost_heads + config.ghost_folds), MODULES if form == "outputs" else 0


@pytest.mark.parametrize("recipe", SHARE)
@pytest.mark.parametrize("form", GHOST_FORMS)
def test_a_tflite_file_has_one_convolution_a_ghost_with_its_relu_of_a_kind_that_xnnpack_takes(
    form: str, recipe: str
) -> None:
    model = read_model(tflite(recipe, form))
    subgraph = model.subgraphs[0]
    ops = Counter(op_name(model, operator) for operator in subgraph.operators)
    assert ops["SOFTMAX"] == LAYERS
    assert not {"EXP", "RELU", "SUM", "CONV_2D", "SPACE_TO_BATCH_ND", "ADD_N"} & set(ops)
    ghosts, sums = ghosts_and_sums(form)
    convolutions = [o for o in subgraph.operators if op_name(model, o) == "DEPTHWISE_CONV_2D"]
    activations = [o.builtinOptions.fusedActivationFunction for o in subgraph.operators if op_name(model, o) in MAKERS]
    assert activations.count(schema.ActivationFunctionType.RELU) == ghosts
    assert len(convolutions) >= ghosts + sums
    for operator in convolutions:  # one output for each channel
        values, kernel, result = (subgraph.tensors[i] for i in (*operator.inputs[:2], operator.outputs[0]))
        assert values.shape[3] == kernel.shape[3] == result.shape[3]
        assert kernel.shape[1] * kernel.shape[2] <= 9
    for operator in subgraph.operators:
        assert op_name(model, operator) != "CONCATENATION" or len(operator.inputs) <= 5


@pytest.mark.parametrize("form", GHOST_FORMS)
def test_static_int8_convolves_in_float_what_comes_with_several_scales(form: str) -> None:
    model = read_model(tflite("int8", form))
    subgraph = model.subgraphs[0]
    makers = {int(i): o for o in subgraph.operators for i in o.outputs}
    joined = [o for o in subgraph.operators if op_name(model, o) in ("DEPTHWISE_CONV_2D", "CONCATENATION", "PAD")]
    assert joined
    for operator in joined:
        assert subgraph.tensors[operator.outputs[0]].type == schema.TensorType.FLOAT32
    products = [o for o in subgraph.operators if op_name(model, o) == "FULLY_CONNECTED"]
    assert all(subgraph.tensors[o.outputs[0]].type == schema.TensorType.INT8 for o in products)
    assert all(op_name(model, makers[int(o.inputs[0])]) != "DEPTHWISE_CONV_2D" for o in products)


@pytest.mark.parametrize("recipe", SHARE)
@pytest.mark.parametrize("form", GHOST_FORMS)
def test_an_onnx_file_has_one_convolution_a_ghost_with_its_relu_and_its_padding(form: str, recipe: str) -> None:
    model = onnx_model(recipe, form)
    ops = Counter(node.op_type for node in model.graph.node)
    ghosts, sums = ghosts_and_sums(form)
    assert ops["Softmax"] == LAYERS
    assert (ops["Conv"], ops["Relu"]) == (ghosts + sums, ghosts)
    assert not {"Exp", "ConvInteger", "Pad"} & set(ops)
    # tf2onnx makes a Gemm with a computed bias of a product and a sum; static int8 has no such thing.
    made = {name for node in model.graph.node if node.op_type != "DequantizeLinear" for name in node.output}
    if recipe == "float32":
        assert not any(
            len(node.input) > 2 and node.input[2] in made for node in model.graph.node if node.op_type == "Gemm"
        )


# Padding.


# Rows of two tokens ([CLS] and [SEP], an empty text) are left out: their attention scores can be lower than those of
# any calibration row, and then a padded token gets a 256th of the attention in int8. Measured on such rows of VALUES,
# in steps of the output: up to 2.8 with ghosts, up to 1.8 without. From three tokens on nothing moves at all.
PADDED = tiny_files.inputs(40, seed=9, shortest=3)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["tflite", "onnx"])
@pytest.mark.parametrize("recipe", ["float32", "int8"])
@pytest.mark.parametrize("form", GHOST_FORMS)
def test_what_stands_in_padding_does_not_leak_through_ghosts(form: str, recipe: str, target: str) -> None:
    """For the answers of every token: the last one's neighbor is padding, and a ghost reads it."""
    head = "question-answering"
    assert (PADDED["mask"] == 0).any()
    clean, changed = (
        tiny_files.run_tflite(tflite(recipe, form, head), values)
        if target == "tflite"
        else tiny_files.run_onnx(onnx_model(recipe, form, head), values)
        for values in (PADDED, tiny_files.other_padding(PADDED))
    )
    tokens = PADDED["mask"] > 0
    for name, values in clean.items():
        low, high = onnx_ranges(form, head).ranges[name]
        moved = np.abs(values - changed[name])[tokens].max()
        # float32: rounding of the masked weights. int8: a padded token's share of the attention is rounded to zero.
        assert moved <= (0.0 if recipe == "int8" else 1e-5 * (high - low)), name
    # A file that answers the same for everything would pass too.
    for name, values in graph(form, head).predict(PADDED).items():
        assert np.corrcoef(clean[name][tokens], values[tokens])[0, 1] > 0.98
