"""A Gemm that adds something computed is taken apart; others stay."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from quantize.onnx.passes.computed_bias import computed_bias as computed_bias_onnx


def make(bias: str, **options: float) -> onnx.ModelProto:
    """y = x @ w + bias, where the bias is a constant, or the input itself through a Relu."""
    random = np.random.default_rng(0)
    weights = [numpy_helper.from_array(random.standard_normal((4, 4)).astype(np.float32), "w")]
    nodes = [helper.make_node("Relu", ["x"], ["skip"])]
    if bias == "constant":
        weights.append(numpy_helper.from_array(random.standard_normal(4).astype(np.float32), "b"))
    nodes.append(helper.make_node("Gemm", ["x", "w", "b" if bias == "constant" else "skip"], ["y"], **options))
    places = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 4]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "model", places[:1], places[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(model: onnx.ModelProto) -> np.ndarray:
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)})[0]


def test_a_computed_bias_becomes_an_add_and_the_answer_stays() -> None:
    model = make("computed", alpha=1.0)
    expected = run(model)
    assert computed_bias_onnx(model) == 1
    assert [node.op_type for node in model.graph.node] == ["Relu", "MatMul", "Add"]
    np.testing.assert_allclose(run(model), expected, atol=1e-6)


def test_a_constant_bias_and_a_gemm_with_factors_stay() -> None:
    for model in (make("constant"), make("computed", alpha=2.0)):
        before = model.SerializeToString()
        assert computed_bias_onnx(model) == 0
        assert model.SerializeToString() == before


def test_a_factor_of_what_is_added_becomes_a_mul() -> None:
    model = make("computed", beta=0.25)
    expected = run(model)
    assert computed_bias_onnx(model) == 1
    assert [node.op_type for node in model.graph.node] == ["Relu", "MatMul", "Mul", "Add"]
    np.testing.assert_allclose(run(model), expected, atol=1e-6)


def test_a_product_that_is_there_already_is_not_computed_twice() -> None:
    """x @ w + 0.25 * relu(x @ w), as tf2onnx writes a GELU by tanh behind a layer without a bias."""
    model = make("computed", beta=0.25)
    model.graph.node[0].input[0] = "product"
    model.graph.node.insert(0, helper.make_node("MatMul", ["x", "w"], ["product"]))
    expected = run(model)
    assert computed_bias_onnx(model) == 1
    assert [node.op_type for node in model.graph.node] == ["MatMul", "Relu", "Mul", "Add"]
    np.testing.assert_allclose(run(model), expected, atol=1e-6)
