import numpy as np
import onnx
import pytest

import tiny_models
from exporters.audit import audit, check_scheme
from quantize.flatbuffer import op_name, read_model, schema, write_model
from quantize.onnx_static import quantize_static_onnx
from quantize.onnx_weights import to_float16_onnx, to_int8_dynamic_onnx
from quantize.passes.prepend_projection import prepend_projection
from quantize.passes.prepend_projection_onnx import prepend_projection_onnx
from quantize.recipe import RECIPES
from quantize.tflite_static import quantize_static
from quantize.tflite_weights import to_float16, to_float32, to_int8_dynamic


@pytest.fixture(scope="module")
def files() -> dict[tuple[str, str], bytes]:
    tflite, onnx_model = tiny_models.float_tflite(), tiny_models.float_onnx()
    return {
        ("tflite", "float32"): to_float32(tflite),
        ("tflite", "fp16"): to_float16(tflite),
        ("tflite", "int8-dynamic"): to_int8_dynamic(tflite),
        ("tflite", "int8"): quantize_static(tflite, tiny_models.tflite_ranges()),
        ("onnx", "float32"): onnx_model.SerializeToString(),
        ("onnx", "fp16"): to_float16_onnx(onnx_model).SerializeToString(),
        ("onnx", "int8-dynamic"): to_int8_dynamic_onnx(onnx_model).SerializeToString(),
        ("onnx", "int8"): quantize_static_onnx(onnx_model, tiny_models.onnx_ranges()).SerializeToString(),
    }


@pytest.mark.parametrize("target", ["tflite", "onnx"])
@pytest.mark.parametrize("claimed", RECIPES)
@pytest.mark.parametrize("real", RECIPES)
def test_a_file_passes_as_its_own_recipe_and_as_no_other(files, target, real, claimed):
    problems = check_scheme(RECIPES[claimed], files[target, real], target=target)
    assert bool(problems) == (real != claimed), problems


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_text_in_files_are_judged_like_features_in_files(files, target):
    if target == "tflite":
        model = read_model(files["tflite", "int8"])
        prepend_projection(model, "projection1:")
        content = write_model(model)
    else:
        model = onnx.load_from_string(files["onnx", "int8"])
        content = prepend_projection_onnx(model, "projection1:").SerializeToString()
    assert check_scheme(RECIPES["int8"], content, target=target) == []


def edited(content: bytes, edit) -> bytes:
    model = read_model(content)
    edit(model, model.subgraphs[0])
    return write_model(model)


def weights(model, graph, name="CONV_2D"):
    return next(graph.tensors[o.inputs[1]] for o in graph.operators if op_name(model, o) == name)


def set_zero_point(model, graph):
    weights(model, graph).quantization.zeroPoint = np.full(8, 3, np.int64)


def set_one_scale(model, graph):
    quantization = weights(model, graph).quantization
    quantization.scale, quantization.zeroPoint = quantization.scale[:1], quantization.zeroPoint[:1]


def set_input_scale(model, graph):
    graph.tensors[graph.inputs[0]].quantization.scale = np.array([1 / 127], np.float32)


def set_sum(model, graph):
    code = next(c for c in model.operatorCodes if c.builtinCode == schema.BuiltinOperator.BATCH_MATMUL)
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.SUM


def set_float_softmax(model, graph):
    softmax = next(o for o in graph.operators if op_name(model, o) == "SOFTMAX")
    graph.tensors[softmax.outputs[0]].type = schema.TensorType.FLOAT32


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (set_zero_point, "CONV_2D are not symmetric"),
        (set_one_scale, "1 scales for 8 channels"),
        (set_input_scale, "scale 1 and zero point 0"),
        (set_sum, "SUM"),
        (set_float_softmax, "SOFTMAX computes in float"),
    ],
)
def test_one_fault_in_an_int8_file_is_found(files, edit, problem):
    problems = check_scheme(RECIPES["int8"], edited(files["tflite", "int8"], edit), target="tflite")
    assert any(problem in found for found in problems), problems


def test_an_onnx_convolution_left_in_float_is_found(files):
    model = onnx.load_from_string(files["onnx", "int8"])
    constants = {item.name for item in model.graph.initializer}
    producers = {node.output[0]: node for node in model.graph.node}
    conv = next(node for node in model.graph.node if node.op_type == "Conv")
    quantized = producers[conv.input[1]].input[0]
    assert quantized in constants
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((8, 32, 1, 1), np.float32), "plain"))
    conv.input[1] = "plain"
    problems = check_scheme(RECIPES["int8"], model.SerializeToString(), target="onnx")
    assert "Conv computes in float" in problems


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_bytes_and_parameters_add_up(files, target):
    expected = sum(int(np.prod(weight.shape)) for weight in tiny_models.model().trainable_weights)
    found = {recipe: audit(files[target, recipe], target=target) for recipe in RECIPES}
    for recipe, entry in found.items():
        assert entry.size_bytes == len(files[target, recipe])
        assert entry.weight_bytes + entry.overhead_bytes == entry.size_bytes
    # Norms become biases: gamma and (of bottlenecks) beta go, one bias a channel comes. Shared constants count once.
    assert found["float32"].parameters == pytest.approx(expected, rel=0.1)
    assert found["float32"].parameters == found["int8"].parameters
    ratio = found["float32"].weight_bytes / found["fp16"].weight_bytes
    assert ratio == pytest.approx(2, rel=0.05)


def test_the_histograms_show_what_the_file_does(files):
    found = audit(files["tflite", "int8"], target="tflite")
    assert found.ops["CONV_2D"] == 16
    assert "float32" not in found.dtypes
    assert audit(files["onnx", "float32"], target="onnx").ops["Conv"] == 16


def test_the_minimum_runtime_is_recorded(files):
    versions = {recipe: audit(files["tflite", recipe], target="tflite").min_runtime for recipe in RECIPES}
    # The cast of an int8 input needs TFLite 2.8; dense layers with scales per channel ran in 2.14 and were not tried before.
    assert versions["float32"] == versions["fp16"] == versions["int8-dynamic"] == "TensorFlow Lite 2.8"
    assert versions["int8"] == "TensorFlow Lite 2.14"
    assert audit(files["onnx", "int8"], target="onnx").min_runtime == "ONNX Runtime 1.12"


def test_an_unknown_target_is_refused():
    with pytest.raises(ValueError, match="tflite or onnx"):
        audit(b"", target="coreml")
