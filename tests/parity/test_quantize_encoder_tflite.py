"""Recipes on .tflite files of token models: numbers against float, structure of the files, padding, all runtimes."""

import subprocess
import sys
from collections import Counter
from importlib.util import find_spec

import numpy as np
import pytest

from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import Model, is_constant, op_name, schema, tensor_name
from quantize.tflite.passes.split_dense import split_dense
from quantize.tflite.ranges import with_exact_masks, with_saturated_scores
from quantize.tflite.static import quantize_full, quantize_static
from quantize.tflite.weights import to_float16, to_float32, to_int8_dynamic
from support import tiny_files
from support.tiny_models import CONVERTED

VALUES = tiny_files.inputs(40, seed=9)
INT8 = schema.TensorType.INT8
# Largest error as a share of an output's range. float16: a step of 2**-11 of each weight. int8: half a step of 1/255
# at each of about 20 stages in a row, which add up as a random walk to 20**0.5 / 510 on average; the largest of about a
# thousand values is five times that, and inner values beyond the calibrated range are clipped: 1/10 in all.
SHARE = {"float32": 1e-4, "fp16": 0.01, "int8-dynamic": 0.1, "int8": 0.1}


def made(recipe: str, head: str = "classification", fold: str = "full") -> bytes:
    content = tiny_files.files(head=head, fold=fold).float_tflite
    if recipe in ("int8", "int8-full"):
        return tiny_files.files(head=head, fold=fold).tflite(recipe)
    return {"float32": to_float32, "fp16": to_float16, "int8-dynamic": to_int8_dynamic}[recipe](content)


def follows(found: dict[str, np.ndarray], expected: dict[str, np.ndarray], recipe: str) -> None:
    assert set(found) == set(expected)
    for name, values in expected.items():
        # The outputs beyond the calibrated range are clipped to the largest that the file can give.
        reachable = np.clip(values, found[name].min(), found[name].max()) if recipe == "int8" else values
        assert np.abs(found[name] - reachable).max() <= SHARE[recipe] * np.ptp(values), name
        assert np.corrcoef(found[name].ravel(), values.ravel())[0, 1] > (
            0.9999 if recipe in ("float32", "fp16") else 0.995
        )


@pytest.mark.slow
@pytest.mark.parametrize("head", tiny_files.HEADS)
@pytest.mark.parametrize("resolver", ["AUTO", "BUILTIN_REF"])
@pytest.mark.parametrize("recipe", SHARE)
def test_outputs_follow_the_float_network(recipe, resolver, head):
    found = tiny_files.run_tflite(made(recipe, head), VALUES, resolver=resolver)
    follows(found, tiny_files.graph(head=head).predict(VALUES), recipe)


@pytest.mark.parametrize("recipe", ["int8-dynamic", "int8"])
def test_a_network_without_rewrites_can_be_quantized_too(recipe):
    found = tiny_files.run_tflite(made(recipe, fold="off"), VALUES)
    follows(found, tiny_files.graph(fold="off").predict(VALUES), recipe)


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
def test_tflite_runtime_2_14_runs_the_file(recipe, tmp_path):
    (tmp_path / "model.tflite").write_bytes(made(recipe))
    np.savez(tmp_path / "in.npz", **VALUES)
    # A process of its own: after TensorFlow the runtime cannot be imported.
    paths = [str(tmp_path / name) for name in ("model.tflite", "in.npz", "out.npy")]
    subprocess.run([sys.executable, "-c", RUNTIME_JOB, *paths], check=True, capture_output=True)
    follows({"logits": np.load(tmp_path / "out.npy")}, tiny_files.graph().predict(VALUES), recipe)


def operators(content: bytes) -> tuple[Model, Counter]:
    model = read_model(content)
    return model, Counter(op_name(model, operator) for operator in model.subgraphs[0].operators)


@pytest.mark.parametrize("head", tiny_files.HEADS)
@pytest.mark.parametrize("fold", ["full", "off"])
def test_full_int8_holds_no_float_tensor(head, fold):
    model, ops = operators(made("int8-full", head, fold))
    kinds = Counter(tensor.type for tensor in model.subgraphs[0].tensors)
    assert set(kinds) == {INT8, schema.TensorType.INT32}
    assert "DEQUANTIZE" not in ops
    # The parts of a trigram that is not a convolution are brought to one scale.
    assert ops["QUANTIZE"] == (3 if fold == "off" else 0)
    assert ops["SOFTMAX"] == CONVERTED["mobilebert"].config.num_layers
    # Whole numbers in, int8 out, each output with a scale of its own.
    graph = model.subgraphs[0]
    assert {graph.tensors[i].type for i in graph.inputs} == {schema.TensorType.INT32}
    assert all(len(graph.tensors[i].quantization.scale) == 1 for i in graph.outputs)


def test_an_int8_file_is_as_small_as_its_parameters():
    parameters = sum(values.size for values in tiny_files.graph().network.tensors.values())
    for recipe in ("int8", "int8-dynamic"):
        model = read_model(made(recipe))
        weights = sum(len(buffer.data) for buffer in model.buffers if buffer.data is not None)
        # A byte each, four for a bias: less than 1.3 in this tiny network, where biases count for more.
        assert weights <= 1.3 * parameters


@pytest.mark.parametrize("recipe", ["int8", "int8-dynamic"])
def test_tables_are_looked_up_in_int8(recipe):
    model, ops = operators(made(recipe))
    graph = model.subgraphs[0]
    tables = [graph.tensors[o.inputs[0]] for o in graph.operators if op_name(model, o) == "GATHER"]
    # Words, segments and positions. The last are float beside float sums.
    assert len(tables) == 3
    assert all(is_constant(model, table) for table in tables)
    assert sum(table.type == INT8 for table in tables) == (2 if recipe == "int8-dynamic" else 3)
    # In static int8: the scores of each layer, which a softmax reads.
    layers = CONVERTED["mobilebert"].config.num_layers
    assert ops["DEQUANTIZE"] == (2 if recipe == "int8-dynamic" else layers)


def test_dense_layers_have_a_scale_for_each_channel_and_an_int32_bias():
    model, _ = operators(made("int8"))
    graph = model.subgraphs[0]
    for operator in graph.operators:
        if op_name(model, operator) == "FULLY_CONNECTED":
            weights = graph.tensors[operator.inputs[1]]
            assert len(weights.quantization.scale) == weights.shape[0]
            assert not np.any(weights.quantization.zeroPoint)
            assert operator.inputs[2] < 0 or graph.tensors[operator.inputs[2]].type == schema.TensorType.INT32


def test_operators_on_int8_carry_the_versions_that_know_int8():
    model, _ = operators(made("int8", "question-answering"))
    versions = {
        op_name(model, o): model.operatorCodes[o.opcodeIndex].version
        for o in model.subgraphs[0].operators
        if model.subgraphs[0].tensors[o.outputs[0]].type == INT8
    }
    for name, version in {"SPLIT": 2, "UNPACK": 2, "CAST": 3, "GATHER": 2, "ADD": 2, "SUB": 2, "SOFTMAX": 2}.items():
        assert versions.get(name, version) == version, name


# Padding.


@pytest.mark.parametrize("recipe", SHARE)
def test_what_stands_in_padding_does_not_leak(recipe):
    content = made(recipe)
    clean = tiny_files.run_tflite(content, VALUES, raw=True)["logits"]
    changed = tiny_files.run_tflite(content, tiny_files.other_padding(VALUES), raw=True)["logits"]
    assert (VALUES["mask"] == 0).any()
    if recipe == "int8":
        assert np.array_equal(clean, changed)  # not even by one step
    else:
        # Dynamic int8 takes one scale for all tokens of a product of two activations, no more than rounding.
        assert np.abs(clean - changed).max() <= 1e-4 * np.ptp(clean)


def probabilities(content: bytes, row: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The int8 attention weights, made by the softmax or by the QUANTIZE behind it."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=content,
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        experimental_preserve_all_tensors=True,
    )
    interpreter.get_signature_runner()(**row)
    model = read_model(content)
    graph = model.subgraphs[0]
    made = {o.outputs[0] for o in graph.operators if op_name(model, o) == "SOFTMAX"}
    behind = {o.inputs[0]: o.outputs[0] for o in graph.operators if op_name(model, o) == "QUANTIZE"}
    return [interpreter.get_tensor(int(behind.get(index, index))) for index in sorted(made)]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("recipe", ["int8", "int8-full"])
def test_padding_gets_exactly_no_weight(recipe):
    content = made(recipe)
    for row in tiny_files.single_rows(tiny_files.other_padding(VALUES))[:10]:
        for weights in probabilities(content, row):
            assert weights.dtype == np.int8
            padded = weights[..., row["mask"][0] == 0]
            assert np.all(padded == -128)
            assert weights[..., row["mask"][0] == 1].max() > 0  # and the tokens hold it


def test_calibration_on_rows_without_padding_does_not_lose_the_mask():
    from quantize.tflite.calibrate import calibrate

    full = tiny_files.inputs(32, shortest=tiny_files.LENGTH)
    assert full["mask"].all()
    content = tiny_files.files().float_tflite
    int8 = quantize_static(content, calibrate(content, tiny_files.single_rows(full)))
    follows(tiny_files.run_tflite(int8, VALUES), tiny_files.graph().predict(VALUES), "int8")
    clean, changed = (
        tiny_files.run_tflite(int8, v, raw=True)["logits"] for v in (VALUES, tiny_files.other_padding(VALUES))
    )
    assert np.array_equal(clean, changed)


def error(content: bytes) -> float:
    expected = tiny_files.graph().predict(VALUES)["logits"]
    return float(np.abs(tiny_files.run_tflite(content, VALUES)["logits"] - expected).mean())


def test_a_mask_of_minus_10000_does_not_collapse_the_scores():
    """With the range of the masked scores as calibrated the step is 39; saturated it is that of the scores."""
    large = -10000.0
    content, ranges = (
        tiny_files.files(mask_value=large).float_tflite,
        tiny_files.files(mask_value=large).tflite_ranges,
    )
    plain = quantize_full(content, ranges.override({name: ranges.ranges[name] for name in ranges.row_peaks}))
    assert error(quantize_full(content, ranges)) < 2 * error(made("int8-full"))
    assert error(plain) > 4 * error(made("int8-full"))
    assert error(quantize_static(content, ranges)) < 1.1 * error(made("int8"))  # here the sum is float


def test_masked_scores_get_a_range_that_ends_below_the_smallest_peak():
    model = read_model(tiny_files.files().float_tflite)
    ranges = tiny_files.files().tflite_ranges
    changed = with_saturated_scores(model, with_exact_masks(model, ranges))
    assert len(ranges.row_peaks) == CONVERTED["mobilebert"].config.num_layers
    for name, peak in ranges.row_peaks.items():
        low, high = changed.ranges[name]
        assert low == pytest.approx(peak - 6 - np.log(tiny_files.LENGTH))
        assert high == ranges.ranges[name][1]
        assert low > ranges.ranges[name][0] + 20  # the mask itself is far outside
        # The scores in front of the mask have the same scale, so that the sum rounds nothing.
        assert sum(value == (low, high) for value in changed.ranges.values()) == 2


# Passes.


def test_parts_of_a_split_with_different_ranges_get_layers_of_their_own():
    content, ranges = tiny_files.files().float_tflite, tiny_files.files().tflite_ranges
    model = read_model(content)
    graph = model.subgraphs[0]
    splits = [o for o in graph.operators if op_name(model, o) == "SPLIT"]
    wide = tensor_name(graph.tensors[splits[0].outputs[1]])
    low, high = ranges.ranges[wide]
    before = Counter(op_name(model, o) for o in graph.operators)
    assert split_dense(model, ranges.override({wide: (8 * low, 8 * high)})) >= 1
    after = Counter(op_name(model, o) for o in graph.operators)
    gone = before["SPLIT"] - after["SPLIT"]
    assert after["FULLY_CONNECTED"] == before["FULLY_CONNECTED"] + 2 * gone
    follows(tiny_files.run_tflite(write_model(model), VALUES), tiny_files.graph().predict(VALUES), "float32")


def test_parts_of_a_split_with_equal_ranges_stay_together():
    ranges = tiny_files.files().tflite_ranges
    model = read_model(tiny_files.files().float_tflite)
    same = ranges.override(dict.fromkeys(ranges.ranges, (-1.0, 1.0)))
    assert split_dense(model, same) == 0


def test_rows_of_very_different_size_keep_their_precision_in_int8_dynamic(monkeypatch):
    """One scale for the whole matrix rounds the small rows to nothing; old runtimes know no other."""
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter

    from exporters.formats.graph import trace
    from exporters.formats.tflite.convert import to_tflite
    from quantize.tflite import weights as tflite_weights

    generator = np.random.default_rng(0)
    sizes = np.geomspace(0.002, 1.0, 64)
    first = tf.constant(generator.normal(0, 1, (32, 64)) * sizes, tf.float32)
    bias = tf.constant(generator.normal(0, 0.1, 64) * sizes, tf.float32)
    second = tf.constant(generator.normal(0, 1, (64, 8)), tf.float32)

    def network(x: tf.Tensor) -> tf.Tensor:
        hidden = tf.nn.relu(tf.matmul(x, first) + bias)
        return tf.matmul(tf.tanh(hidden * tf.constant(1 / sizes, tf.float32)), second)

    content = to_tflite(trace(network, {"x": ((4, 32), "float32")}))
    x = generator.normal(0, 1, (4, 32)).astype(np.float32)

    def logits(model: bytes) -> np.ndarray:
        return Interpreter(model_content=model).get_signature_runner()(x=x)["logits"]

    levelled = to_int8_dynamic(content)
    monkeypatch.setattr(tflite_weights, "LEVEL_GAIN", np.inf)
    plain = to_int8_dynamic(content)
    errors = [np.abs(logits(model) - logits(content)).mean() for model in (levelled, plain)]
    assert errors[0] < errors[1] / 3
    model, ops = operators(levelled)
    assert ops["MUL"] == operators(plain)[1]["MUL"] + 1
    assert all(model.operatorCodes[o.opcodeIndex].version <= 9 for o in model.subgraphs[0].operators)
