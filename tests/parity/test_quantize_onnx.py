"""Recipes on .onnx files: numbers against Keras, structure of the graphs."""

import numpy as np
import onnx
import pytest

from quantize.onnx.dynamic import to_int8_dynamic as to_int8_dynamic_onnx
from quantize.onnx.passes.prepend_projection import prepend_projection as prepend_projection_onnx
from quantize.onnx.static import quantize_static as quantize_static_onnx
from quantize.onnx.weights import to_float16 as to_float16_onnx
from support import tiny_files

VALUES = tiny_files.features(40, seed=9)
# The same arithmetic in another order: float32 rounding of sums of some hundred terms.
FLOAT_ATOL = 1e-4


def made(recipe: str, kind: str = "prado") -> onnx.ModelProto:
    model = tiny_files.projection_files(kind).float_onnx
    if recipe == "int8":
        return quantize_static_onnx(model, tiny_files.projection_files(kind).onnx_ranges)
    return {"float32": lambda m: m, "fp16": to_float16_onnx, "int8-dynamic": to_int8_dynamic_onnx}[recipe](model)


@pytest.mark.parametrize("kind", tiny_files.KINDS)
@pytest.mark.parametrize("recipe", ["float32", "fp16", "int8-dynamic", "int8"])
def test_logits_follow_keras(recipe, kind):
    expected = tiny_files.logits(VALUES, kind)
    found = tiny_files.projection_onnx(made(recipe, kind), VALUES, one_by_one=True)
    # Derived in test_quantize_tflite.py; weights of static int8 have 7 bits here, which doubles their step of 1/255.
    share = {"float32": FLOAT_ATOL / np.ptp(expected), "fp16": 0.01, "int8-dynamic": 0.1, "int8": 0.12}[recipe]
    assert np.abs(found - expected).max() <= share * np.ptp(expected)


@pytest.mark.parametrize("recipe", ["float32", "fp16", "int8"])
def test_rows_of_a_batch_do_not_depend_on_each_other(recipe):
    model = made(recipe)
    together, alone = (
        tiny_files.projection_onnx(model, VALUES),
        tiny_files.projection_onnx(model, VALUES, one_by_one=True),
    )
    assert np.abs(together - alone).max() <= 1e-5 * np.ptp(alone)


def test_rows_of_a_dynamic_model_share_their_scales():
    model = made("int8-dynamic")
    together = tiny_files.projection_onnx(model, VALUES)
    alone = tiny_files.projection_onnx(model, VALUES, one_by_one=True)
    assert 0 < np.abs(together - alone).max() <= 0.1 * np.ptp(alone)  # as far as either is from float


@pytest.mark.parametrize("recipe", ["float32", "fp16", "int8-dynamic", "int8"])
def test_the_graph_is_valid_clean_and_standard(recipe):
    model = made(recipe)
    onnx.checker.check_model(model, full_check=True)
    assert {entry.domain for entry in model.opset_import} == {""}
    assert [value.name for value in model.graph.input] == ["features"]
    assert [value.name for value in model.graph.output] == ["logits"]
    assert not model.graph.value_info
    assert not any(node.name or node.doc_string for node in model.graph.node)
    used = {name for node in model.graph.node for name in node.input}
    assert {item.name for item in model.graph.initializer} <= used
    assert max(len(name) for name in used - {"features"}) <= 2


def test_the_int8_input_is_exact():
    graph = made("int8").graph
    constants = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
    readers = [node for node in graph.node if "features" in node.input]
    assert [node.op_type for node in readers] == ["DequantizeLinear"]
    scale, zero = (constants[name] for name in readers[0].input[1:])
    assert (scale, zero, zero.dtype) == (1.0, 0, np.int8)
    # Behind it the values are only moved until they are quantized, with the same step and the zero moved to 128.
    tensors, quantized = {readers[0].output[0]}, []
    for node in graph.node:
        if node.input[0] in tensors:
            if node.op_type == "QuantizeLinear":
                quantized.append(tuple(constants[name].item() for name in node.input[1:]))
            else:
                assert node.op_type in ("Unsqueeze", "Transpose", "Slice")
                tensors.update(node.output)
    assert quantized
    assert set(quantized) == {(1.0, 128)}


def test_weights_of_static_int8_fit_16_bit_pair_sums():
    """x86 without VNNI adds two products u8 * s8 in 16 bits: 2 * 255 * 64 = 32640 fits, 2 * 255 * 127 does not."""
    graph = made("int8").graph
    constants = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
    weights = [
        constants[node.input[0]]
        for node in graph.node
        if node.op_type == "DequantizeLinear" and node.input[0] in constants
    ]
    int8 = [values.astype(int) for values in weights if values.dtype == np.int8 and values.ndim > 1]
    assert max(int(np.abs(values).max()) for values in int8 if values.ndim > 2) == 64  # order is up to the runtime
    for values in int8:
        if values.ndim == 2:  # two neighbors that are added up
            for signed in (values, -values):
                assert (np.maximum(signed[:-1], 0) + np.maximum(signed[1:], 0)).max() <= 128


def test_onnx_runtime_computes_static_int8_in_integers(tmp_path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 4
    onnxruntime.InferenceSession(made("int8").SerializeToString(), options, providers=["CPUExecutionProvider"])
    kinds = [node.op_type for node in onnx.load(tmp_path / "optimized.onnx").graph.node]
    assert kinds.count("QLinearConv") == 16
    assert not {"Conv", "MatMul", "Gemm", "FusedConv"} & set(kinds)


def test_text_in_is_features_in_with_one_operator_in_front():
    model = made("int8")
    text = prepend_projection_onnx(model, "projection1:feature_size=32")
    node = text.graph.node[0]
    assert (node.domain, node.op_type, list(node.input), list(node.output)) == (
        "export.mobile",
        "SequenceProjection",
        ["text"],
        ["features"],
    )
    assert onnx.helper.get_attribute_value(node.attribute[0]) == b"projection1:feature_size=32"
    assert text.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.STRING
    assert list(text.graph.node[1:]) == list(model.graph.node)
    assert list(text.graph.initializer) == list(model.graph.initializer)


def test_a_projection_cannot_be_put_in_front_twice():
    text = prepend_projection_onnx(made("int8"), "projection1:")
    with pytest.raises(ValueError, match="int8 input"):
        prepend_projection_onnx(text, "projection1:")
