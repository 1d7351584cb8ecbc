"""Recipes on .onnx files of token models: numbers against float, structure of the graphs, padding."""

from collections import Counter

import numpy as np
import onnx
import pytest

from quantize.onnx.calibrate import calibrate as calibrate_onnx
from quantize.onnx.dynamic import to_int8_dynamic as to_int8_dynamic_onnx
from quantize.onnx.passes.mask_table import mask_table as mask_table_onnx
from quantize.onnx.passes.split_dense import split_dense as split_dense_onnx
from quantize.onnx.ranges import with_fixed_ranges
from quantize.onnx.static import quantize_static as quantize_static_onnx
from quantize.onnx.weights import to_float16 as to_float16_onnx
from support import tiny_files
from support.tiny_models import CONVERTED

VALUES = tiny_files.inputs(40, seed=9)
# Derived in test_quantize_encoder_tflite.py; static int8 weights have 7 bits here, which doubles their step of 1/255.
SHARE = {"float32": 1e-4, "fp16": 0.01, "int8-dynamic": 0.1, "int8": 0.12}


def made(recipe: str, head: str = "classification", fold: str = "full") -> onnx.ModelProto:
    model = tiny_files.files(head=head, fold=fold).float_onnx
    if recipe == "int8":
        return quantize_static_onnx(model, tiny_files.files(head=head, fold=fold).onnx_ranges)
    return {"float32": lambda m: m, "fp16": to_float16_onnx, "int8-dynamic": to_int8_dynamic_onnx}[recipe](model)


def follows(found: dict[str, np.ndarray], expected: dict[str, np.ndarray], recipe: str) -> None:
    assert set(found) == set(expected)
    for name, values in expected.items():
        assert np.abs(found[name] - values).max() <= SHARE[recipe] * np.ptp(values), name
        assert np.corrcoef(found[name].ravel(), values.ravel())[0, 1] > (0.9999 if "8" not in recipe else 0.995)


@pytest.mark.parametrize("head", tiny_files.HEADS)
@pytest.mark.parametrize("recipe", SHARE)
def test_outputs_follow_the_float_network(recipe, head):
    follows(tiny_files.run_onnx(made(recipe, head), VALUES), tiny_files.graph(head=head).predict(VALUES), recipe)


@pytest.mark.parametrize("recipe", ["int8-dynamic", "int8"])
def test_a_network_without_rewrites_can_be_quantized_too(recipe):
    found = tiny_files.run_onnx(made(recipe, fold="off"), VALUES)
    follows(found, tiny_files.graph(fold="off").predict(VALUES), recipe)


@pytest.mark.parametrize("recipe", SHARE)
def test_the_graph_is_valid_clean_and_standard(recipe):
    model = made(recipe)
    onnx.checker.check_model(model, full_check=True)
    assert {entry.domain for entry in model.opset_import} == {""}
    assert [value.name for value in model.graph.input] == ["ids", "mask", "segments"]
    used = {name for node in model.graph.node for name in node.input}
    assert {item.name for item in model.graph.initializer} <= used


@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_onnx_runtime_computes_static_int8_in_integers(head, tmp_path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 4
    onnxruntime.InferenceSession(made("int8", head).SerializeToString(), options, providers=["CPUExecutionProvider"])
    kinds = Counter(node.op_type for node in onnx.load(tmp_path / "optimized.onnx").graph.node)
    layers = CONVERTED["mobilebert"].config.num_layers
    assert kinds["QLinearConv"] == 1
    assert kinds["QLinearMatMul"] == 2 * layers  # keys (no bias), contexts
    # Scores go to the softmax unrounded: it and the sum with the mask are faster in float.
    assert kinds["MatMulIntegerToFloat"] == kinds["Softmax"] == layers
    assert kinds["QGemm"] >= 7 * layers
    assert not {"Conv", "MatMul", "Gemm", "FusedConv", "Cast"} & set(kinds)
    # `ids * mask + padding * (1 - mask)` are whole numbers. `hidden` is not rounded: the last sum may be in float.
    assert (kinds["Mul"], kinds["Sub"]) == (2, 1)
    assert kinds["Add"] == 1 + layers + (1 if head == "base" else 0)


@pytest.mark.parametrize("recipe", ["int8", "int8-dynamic"])
def test_tables_are_looked_up_in_8_bits(recipe):
    graph = made(recipe).graph
    constants = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
    tables = [
        constants[node.input[0]] for node in graph.node if node.op_type == "Gather" and node.input[0] in constants
    ]
    large = [table for table in tables if table.size > 2]
    assert len(large) == 2
    assert all(table.dtype == np.uint8 for table in large)


def test_float16_tables_are_widened_after_the_lookup():
    graph = made("fp16").graph
    kinds = {item.name: item.data_type for item in graph.initializer}
    lookups = [node for node in graph.node if node.op_type == "Gather"]
    readers = {name: node.op_type for node in graph.node for name in node.input}
    assert [kinds[node.input[0]] for node in lookups] == [onnx.TensorProto.FLOAT16] * 2
    assert [readers[node.output[0]] for node in lookups] == ["Cast"] * 2


@pytest.mark.parametrize(("recipe", "limit"), [("int8", 2.0), ("int8-dynamic", 1.65)])
def test_an_8_bit_file_is_a_fraction_of_the_float_file(recipe, limit):
    """Bytes for a parameter; the names and operators of a tiny network weigh as much as its weights."""
    parameters = sum(values.size for values in tiny_files.graph().network.tensors.values())
    assert made(recipe).ByteSize() <= limit * parameters


def test_weights_of_static_int8_fit_16_bit_pair_sums():
    graph = made("int8").graph
    constants = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
    weights = [v.astype(int) for v in constants.values() if v.dtype == np.int8 and v.ndim > 1]
    matrices = [values for values in weights if values.ndim == 2]
    assert len(matrices) > 10
    for values in matrices:
        for signed in (values, -values):
            assert 255 * (np.maximum(signed[:-1], 0) + np.maximum(signed[1:], 0)).max() <= np.iinfo(np.int16).max
    assert max(int(np.abs(values).max()) for values in weights if values.ndim > 2) == 64
    assert max(int(np.abs(values).max()) for values in matrices) > 64


# Padding.


@pytest.mark.parametrize("recipe", SHARE)
def test_what_stands_in_padding_does_not_leak(recipe):
    model = made(recipe)
    clean, changed = (tiny_files.run_onnx(model, v)["logits"] for v in (VALUES, tiny_files.other_padding(VALUES)))
    if recipe == "int8":
        assert np.array_equal(clean, changed)
    elif recipe == "int8-dynamic":
        # One scale for all tokens of a row, padding among them: the step may change, by no more than rounding.
        assert np.abs(clean - changed).max() <= 0.02 * np.ptp(clean)
    else:
        assert np.abs(clean - changed).max() <= 1e-5 * np.ptp(clean)


def test_calibration_on_rows_without_padding_does_not_lose_the_mask():
    full = tiny_files.inputs(32, shortest=tiny_files.LENGTH)
    model = tiny_files.files().float_onnx
    int8 = quantize_static_onnx(model, calibrate_onnx(model, tiny_files.single_rows(full)))
    follows(tiny_files.run_onnx(int8, VALUES), tiny_files.graph().predict(VALUES), "int8")
    clean, changed = (tiny_files.run_onnx(int8, v)["logits"] for v in (VALUES, tiny_files.other_padding(VALUES)))
    assert np.array_equal(clean, changed)


def error(model: onnx.ModelProto) -> float:
    return float(
        np.abs(tiny_files.run_onnx(model, VALUES)["logits"] - tiny_files.graph().predict(VALUES)["logits"]).mean()
    )


def test_a_mask_of_minus_10000_does_not_collapse_the_scores():
    large = -10000.0
    model, ranges = tiny_files.files(mask_value=large).float_onnx, tiny_files.files(mask_value=large).onnx_ranges
    assert error(quantize_static_onnx(model, ranges)) < 1.2 * error(made("int8"))


# Passes.


def test_a_mask_becomes_a_table_of_two_values():
    model = onnx.ModelProto()
    model.CopyFrom(tiny_files.files().float_onnx)
    found = mask_table_onnx(model, tiny_files.files().onnx_ranges.ranges)
    assert list(found.values()) == [(tiny_files.MASK, 0.0)]
    # Whole numbers are left: they put the padding token where the mask is 0.
    assert [node.input[1] for node in model.graph.node if node.op_type == "Sub"] == ["mask"]
    assert "mask" not in {node.input[0] for node in model.graph.node if node.op_type == "Cast"}
    expected = tiny_files.run_onnx(tiny_files.files().float_onnx, VALUES)["logits"]
    assert np.array_equal(tiny_files.run_onnx(model, VALUES)["logits"], expected)


def test_probabilities_have_a_fixed_range():
    model, ranges = tiny_files.files().float_onnx, tiny_files.files().onnx_ranges
    softmaxes = {node.output[0] for node in model.graph.node if node.op_type == "Softmax"}
    changed = with_fixed_ranges(model, ranges)
    assert {name for name, found in changed.ranges.items() if found != ranges.ranges[name]} == softmaxes
    assert {changed.ranges[name] for name in softmaxes} == {(0.0, 1.0)}


def test_parts_of_a_split_with_different_ranges_get_layers_of_their_own():
    model = onnx.ModelProto()
    model.CopyFrom(tiny_files.files().float_onnx)
    ranges = tiny_files.files().onnx_ranges
    split = next(node for node in model.graph.node if node.op_type == "Split")
    low, high = ranges.ranges[split.output[0]]
    before = Counter(node.op_type for node in model.graph.node)
    assert split_dense_onnx(model, ranges.override({split.output[0]: (8 * low, 8 * high)})) >= 1
    after = Counter(node.op_type for node in model.graph.node)
    assert after["Gemm"] == before["Gemm"] + 2 * (before["Split"] - after["Split"])
    follows(tiny_files.run_onnx(model, VALUES), tiny_files.graph().predict(VALUES), "float32")


def test_both_formats_calibrate_to_the_same_ranges():
    tflite, ours = tiny_files.files().tflite_ranges, tiny_files.files().onnx_ranges
    assert ours.ranges["logits"] == pytest.approx(tflite.ranges["logits"], abs=1e-4)
