"""int8-dynamic .onnx files: what is shared, the form of the weights, and sums that fit 16 bits."""

from collections import Counter

import numpy as np
import onnx
import pytest

from quantize.onnx.numbers import PAIR_PEAK, paired_scales, quantize_weights
from support import tiny_files
from support.tiny_models import CONVERTED


def constants(model):
    return {item.name: onnx.numpy_helper.to_array(item) for item in model.graph.initializer}


@pytest.mark.parametrize("seed", range(20))
def test_two_neighboring_weights_never_leave_16_bits(seed):
    random = np.random.default_rng(seed)
    weights = random.standard_t(3, (33, 7)).astype(np.float32)
    weights[:, 0] = np.abs(weights[:, 0]).max()  # all alike: no finer than seven bits
    found = quantize_weights(weights, paired_scales(weights), 1).astype(np.int64)
    for signed in (found, -found):
        # x86 without VNNI: two products of an unsigned and a signed byte are added up in 16 bits.
        assert (255 * (np.maximum(signed[:-1], 0) + np.maximum(signed[1:], 0))).max() <= np.iinfo(np.int16).max
    assert set(np.abs(found[:, 0])) <= {PAIR_PEAK // 2, (PAIR_PEAK + 1) // 2}
    assert np.abs(found[:, 1:]).max() > (PAIR_PEAK + 1) // 2


def test_scales_of_a_single_row_and_of_zeros():
    assert paired_scales(np.zeros((3, 2), np.float32)).tolist() == [1.0, 1.0]
    assert paired_scales(np.array([[PAIR_PEAK, 1.0]], np.float32)).tolist() == [1.0, pytest.approx(1 / PAIR_PEAK)]


@pytest.mark.parametrize("name", ["mobilebert", "outliers", "albert"])
def test_weights_are_symmetric_and_a_tensor_is_quantized_once(name):
    model = tiny_files.files(name).onnx("int8-dynamic")
    known, nodes = constants(model), model.graph.node
    products = [node for node in nodes if node.op_type == "MatMulInteger"]
    assert products
    for node in products:
        assert known[node.input[1]].dtype == np.int8
        assert known[node.input[3]].shape == ()
        assert known[node.input[3]] == 0
    quantized = [node.input[0] for node in nodes if node.op_type in ("DynamicQuantizeLinear", "QuantizeLinear")]
    assert len(quantized) == len(set(quantized))


def test_products_that_read_the_same_tensor_share_its_integers():
    """Query, key and value, in a network without rewrites."""
    nodes = tiny_files.files("albert", fold="off").onnx("int8-dynamic").graph.node
    read = Counter(node.input[0] for node in nodes if node.op_type == "MatMulInteger")
    assert (
        sorted(read.values())[-CONVERTED["albert"].config.num_layers :] == [3] * CONVERTED["albert"].config.num_layers
    )


def test_tokens_behind_a_gelu_have_scales_of_their_own():
    layers = len([node for node in tiny_files.files("outliers").float_onnx.graph.node if node.op_type == "Gelu"])
    kinds = Counter(node.op_type for node in tiny_files.files("outliers").onnx("int8-dynamic").graph.node)
    assert kinds["QuantizeLinear"] == layers > 0


@pytest.mark.parametrize("name", ["mobilebert", "outliers"])
def test_onnx_runtime_fuses_the_scales_with_the_products(name, tmp_path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 4
    content = tiny_files.files(name).onnx("int8-dynamic").SerializeToString()
    onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    kinds = Counter(node.op_type for node in onnx.load(tmp_path / "optimized.onnx").graph.node)
    assert kinds["DynamicQuantizeMatMul"] + kinds["MatMulIntegerToFloat"] > 0
    gelus = kinds["Gelu"]
    assert kinds["MatMulInteger"] == gelus


@pytest.mark.parametrize("name", ["mobilebert", "outliers", "ghosts on heads"])
def test_rows_may_be_given_together(name):
    """Their answers move by rounding, since one scale serves all rows."""
    values = tiny_files.inputs(8, seed=4)
    model = tiny_files.files(name).onnx("int8-dynamic")
    alone, together = (tiny_files.run_onnx(model, values, one_by_one=each)["logits"] for each in (True, False))
    assert 0 < np.abs(alone - together).max() <= 0.05 * np.ptp(alone)


def test_the_runner_gives_rows_one_by_one():
    from exporters.formats.base import get

    values = tiny_files.inputs(8, seed=4)
    model = tiny_files.files("outliers").onnx("int8-dynamic")
    runner = get("onnx").runner(get("onnx").open(model.SerializeToString()), inputs=tuple(values), padded=True)
    assert np.array_equal(runner(values)["logits"], tiny_files.run_onnx(model, values)["logits"])
