"""Layer norms and GELUs that are written out become single operators; anything that only looks like one stays."""

from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest
import tensorflow as tf

from exporters.formats.graph import trace
from exporters.formats.onnx.convert import OPSET, to_onnx
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.parts import Parts
from quantize.onnx.passes.fuse_gelu import fuse_gelu as fuse_gelu_onnx
from quantize.onnx.passes.fuse_layer_norm import fuse_layer_norm as fuse_layer_norm_onnx
from quantize.onnx.passes.raise_opset import raise_opset as raise_opset_onnx

CHANNELS = 8
RANDOM = np.random.default_rng(0)
GAMMA, BETA = (RANDOM.normal(0, 1, CHANNELS).astype(np.float32) for _ in range(2))
VALUES = RANDOM.normal(0, 2, (3, 5, CHANNELS)).astype(np.float32)


def parts(table, **changes):
    sizes = {"vocab_size": 9, "hidden_size": CHANNELS, "num_layers": 1, "num_heads": 1, "intermediate_size": CHANNELS}
    config = EncoderConfig(**sizes, embedding_size=CHANNELS, bottleneck_size=CHANNELS, max_positions=5, **changes)
    return Parts(config, table)


def converted(function, shape=(None, None, CHANNELS)):
    """By the steps of an export. A float input, which is twice what is given: no operator reads an input directly."""
    return to_onnx(trace(lambda x: function(x * 2.0), {"x": (shape, "float32")}), {"x": VALUES})


def kinds(model):
    return Counter(node.op_type for node in model.graph.node)


def follows(model, function):
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = function(tf.constant(VALUES * 2.0)).numpy()
    np.testing.assert_allclose(session.run(None, {"x": VALUES})[0], expected, atol=1e-5)


@pytest.mark.parametrize("shape", [(None, None, CHANNELS), (1, 5, CHANNELS)], ids=["symbolic", "static"])
@pytest.mark.parametrize("names", [("gamma", "beta"), ("gamma",), ("beta",)], ids=" and ".join)
def test_the_norm_of_the_forward_pass_becomes_one_operator(names, shape):
    table = {f"n.{name}": {"gamma": GAMMA, "beta": BETA}[name] for name in names}

    def norm(x):
        return parts(table).norm("n", x, 1e-3)

    model = converted(norm, shape)
    assert kinds(model) == {"Mul": 1, "LayerNormalization": 1}
    follows(model, norm)


@pytest.mark.parametrize("shape", [(None, None, CHANNELS), (1, 5, CHANNELS)], ids=["symbolic", "static"])
@pytest.mark.parametrize(("activation", "approximate"), [("gelu", b"none"), ("gelu_tanh", b"tanh")])
def test_the_gelu_of_the_forward_pass_becomes_one_operator(activation, approximate, shape):
    def gelu(x):
        return parts({}, activation=activation).activation(x)

    model = converted(gelu, shape)
    assert kinds(model) == {"Mul": 1, "Gelu": 1}
    assert onnx.helper.get_node_attr_value(model.graph.node[1], "approximate") == approximate
    follows(model, gelu)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 0.5 * x * (1.0 + tf.math.erf(x * 0.7)),
        lambda x: 0.5 * x * (1.0 + tf.math.erf(2.0 * x / np.sqrt(2.0))),
        lambda x: 0.4 * x * (1.0 + tf.math.erf(x / np.sqrt(2.0))),
        lambda x: 0.5 * x * (1.5 + tf.math.erf(x / np.sqrt(2.0))),
        lambda x: 0.5 * tf.abs(x) * (1.0 + tf.math.erf(x / np.sqrt(2.0))),
        lambda x: 0.5 * x * (1.0 + tf.tanh(0.79788456 * (x + 0.05 * tf.pow(x, 3.0)))),
        lambda x: 0.5 * x * (1.0 + tf.tanh(0.79788456 * (x + 0.044715 * tf.pow(x, 2.0)))),
    ],
)
def test_what_only_looks_like_a_gelu_stays(function):
    model = converted(function)
    assert "Gelu" not in kinds(model)
    follows(model, function)


def _norm_over(axis, *, power=2.0):
    def norm(x):
        mean = tf.reduce_mean(x, axis, keepdims=True)
        variance = tf.reduce_mean(tf.abs(x - mean) ** power, axis, keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-3) * GAMMA + BETA

    return norm


@pytest.mark.parametrize("function", [_norm_over(1), _norm_over(-1, power=3.0), _norm_over((1, 2))])
def test_what_only_looks_like_a_layer_norm_stays(function):
    model = converted(function)
    assert "LayerNormalization" not in kinds(model)
    follows(model, function)


def test_a_norm_whose_inner_values_are_read_elsewhere_stays():
    def norm(x):
        centered = x - tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(centered * centered, -1, keepdims=True)
        return centered * tf.math.rsqrt(variance + 1e-3) * GAMMA + BETA + tf.abs(centered)

    model = converted(norm)
    assert "LayerNormalization" not in kinds(model)
    follows(model, norm)


def _pooled(x, *, transpose_b):
    """The weighted mean over time of each channel, as PRADO has it; `x` is [batch, time, channel]."""
    weights = tf.transpose(tf.nn.softmax(x, 1), (0, 2, 1))[:, :, None]  # [batch, channel, 1, time]
    values = tf.transpose(x, (0, 2, 1))
    columns = values[:, :, None] if transpose_b else tf.reshape(values, (-1, CHANNELS, 5, 1))
    return tf.reshape(tf.matmul(weights, columns, transpose_b=transpose_b), (-1, CHANNELS))


@pytest.mark.parametrize("transpose_b", [False, True])
def test_a_dot_product_for_each_channel_becomes_a_product_and_a_sum(transpose_b):
    def pooled(x):
        return _pooled(x, transpose_b=transpose_b)

    model = converted(pooled, (1, 5, CHANNELS))
    if not transpose_b:  # the other is read through a Transpose and stays, which is right as well
        assert kinds(model)["ReduceSum"] == 1
        assert "MatMul" not in kinds(model)
    follows(model, pooled)


def test_a_product_of_matrices_stays():
    def product(x):
        return tf.matmul(x, tf.reshape(x, (-1, CHANNELS, 5)))

    model = converted(product, (1, 5, CHANNELS))
    assert kinds(model)["MatMul"] == 1
    follows(model, product)


def test_a_second_run_of_the_passes_changes_nothing():
    model = converted(lambda x: parts({"n.gamma": GAMMA}).norm("n", x, 1e-3))
    before = model.SerializeToString()
    assert fuse_layer_norm_onnx(model) == fuse_gelu_onnx(model) == 0
    assert model.SerializeToString() == before


def make(op_type, opset, inputs=("x",), **options):
    places = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(op_type, inputs, ["y"], **options)], "g", places[:1], places[1:]
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)


def test_an_operator_that_changed_its_meaning_is_refused():
    model = make("ReduceMean", 17, axes=[-1])  # axes are an input from 18 on
    with pytest.raises(ValueError, match="ReduceMean has another meaning in opset 21 than in opset 17"):
        raise_opset_onnx(model, 21)


def test_an_opset_above_those_that_were_compared_is_refused():
    with pytest.raises(ValueError, match=r"up to opset 21\. Received: 22"):
        raise_opset_onnx(make("Relu", 18), 22)


def test_a_raised_model_says_so():
    model = make("Identity", 18)
    raise_opset_onnx(model, OPSET)
    assert [entry.version for entry in model.opset_import] == [OPSET]
    assert model.ir_version == 10
    onnx.checker.check_model(model, full_check=True)
