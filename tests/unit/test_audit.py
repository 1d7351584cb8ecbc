import dataclasses

import numpy as np
import onnx
import pytest

from exporters.bytes_in.settings import BytesIn
from exporters.formats.base import get
from exporters.formats.onnx import bytes_in as onnx_bytes_in
from exporters.formats.tflite import bytes_in as tflite_bytes_in
from quantize.onnx.dynamic import to_int8_dynamic as to_int8_dynamic_onnx
from quantize.onnx.passes.label_outputs import label_outputs as label_outputs_onnx
from quantize.onnx.passes.prepend_graph import prepend_graph as prepend_graph_onnx
from quantize.onnx.passes.prepend_projection import prepend_projection as prepend_projection_onnx
from quantize.onnx.regions import float_region
from quantize.onnx.static import quantize_static as quantize_static_onnx
from quantize.onnx.weights import to_float16 as to_float16_onnx
from quantize.recipe import RECIPES
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import op_name, schema
from quantize.tflite.passes.compact import compact
from quantize.tflite.passes.float_outputs import float_outputs
from quantize.tflite.passes.label_outputs import label_outputs
from quantize.tflite.passes.prepend_graph import prepend_graph
from quantize.tflite.passes.prepend_projection import prepend_projection
from quantize.tflite.static import quantize_static
from quantize.tflite.weights import to_float16, to_float32, to_int8_dynamic
from support import tiny_files
from support.conversions import EVERYWHERE, OF_TOKENS


@pytest.fixture(scope="module")
def files() -> dict[tuple[str, str], bytes]:
    tflite, onnx_model = tiny_files.projection_files().float_tflite, tiny_files.projection_files().float_onnx
    return {
        ("tflite", "float32"): to_float32(tflite),
        ("tflite", "fp16"): to_float16(tflite),
        ("tflite", "int8-dynamic"): to_int8_dynamic(tflite),
        ("tflite", "int8"): quantize_static(tflite, tiny_files.projection_files().tflite_ranges),
        ("onnx", "float32"): onnx_model.SerializeToString(),
        ("onnx", "fp16"): to_float16_onnx(onnx_model).SerializeToString(),
        ("onnx", "int8-dynamic"): to_int8_dynamic_onnx(onnx_model).SerializeToString(),
        ("onnx", "int8"): quantize_static_onnx(
            onnx_model, tiny_files.projection_files().onnx_ranges
        ).SerializeToString(),
    }


@pytest.mark.parametrize("target", ["tflite", "onnx"])
@pytest.mark.parametrize("claimed", EVERYWHERE)
@pytest.mark.parametrize("real", EVERYWHERE)
def test_a_file_passes_as_its_own_recipe_and_as_no_other(files, target, real, claimed):
    problems = get(target).open(files[target, real]).audit(RECIPES[claimed])
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
    assert get(target).open(content).audit(RECIPES["int8"]) == []


FRONT = BytesIn(
    config=dataclasses.replace(
        tiny_files.projection().config.projection, pad_to=tiny_files.TEXT_LENGTH, max_bytes=64, distortion=0.0
    )
)


def with_bytes_in(content: bytes, target: str, *, labels: bool = True) -> bytes:
    """The file with the projection as builtin operators in front, as an export writes it."""
    if target == "onnx":
        model = prepend_graph_onnx(onnx.load_from_string(content), onnx_bytes_in.bytes_in_model(FRONT))
        return (label_outputs_onnx(model, multi_label=False) if labels else model).SerializeToString()
    model = read_model(content)
    prepend_graph(model, tflite_bytes_in.bytes_in_model(FRONT))
    float_outputs(model)
    if labels:
        label_outputs(model, multi_label=False)
    compact(model, names=False)
    return write_model(model)


@pytest.fixture(scope="module")
def bytes_files(files):
    """Opened once: to read one takes longer than to judge it."""
    return {
        (target, recipe): get(target).open(with_bytes_in(files[target, recipe], target)) for target, recipe in files
    }


@pytest.mark.parametrize("target", ["tflite", "onnx"])
@pytest.mark.parametrize("claimed", EVERYWHERE)
@pytest.mark.parametrize("real", EVERYWHERE)
def test_a_bytes_in_file_passes_as_its_own_recipe_and_as_no_other(bytes_files, target, real, claimed):
    problems = bytes_files[target, real].audit(RECIPES[claimed])
    assert bool(problems) == (real != claimed), problems


def test_a_float_layer_behind_the_bytes_and_a_wrong_scale_of_the_features_are_found(files, bytes_files):
    for edit, problem in ((set_float_product, "BATCH_MATMUL computes in float"), (set_input_scale, "scale 1 and zero")):
        content = with_bytes_in(edited(files["tflite", "int8"], edit), "tflite", labels=False)
        problems = get("tflite").open(content).audit(RECIPES["int8"])
        assert any(problem in found for found in problems), problems
    model = OnnxEdit(bytes_files["onnx", "int8"].content)
    first = next(node for node in model.graph.node if node.op_type == "DequantizeLinear")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(0.5), "other_scale"))
    first.input[1] = "other_scale"
    assert "the int8 input must have scale 1 and zero point 0" in audit_onnx(model.model)


def test_an_operator_that_stock_runtimes_do_not_know_is_found_in_a_bytes_in_file(bytes_files):
    def add_custom(model, graph):
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
        code.customCode = "FlexStringLower"
        model.operatorCodes.append(code)

    content = edited(bytes_files["tflite", "int8"].content, add_custom)
    (problem,) = get("tflite").open(content).audit(RECIPES["int8"])
    assert problem.startswith("FlexStringLower is no builtin operator")
    model = onnx.load_from_string(bytes_files["onnx", "int8"].content)
    model.graph.node.append(onnx.helper.make_node("Lower", ["text"], ["lower"], domain="ai.onnx.contrib"))
    assert any(problem.startswith("ai.onnx.contrib.Lower is no operator") for problem in audit_onnx(model))


def audit_onnx(model: onnx.ModelProto) -> list[str]:
    return get("onnx").open(model.SerializeToString()).audit(RECIPES["int8"])


@pytest.mark.parametrize("recipe", EVERYWHERE)
def test_bytes_in_files_run_from_tensorflow_lite_2_14_and_onnx_runtime_1_18_on(bytes_files, recipe):
    found = [bytes_files[kind, recipe].min_runtime for kind in ("tflite", "onnx")]
    assert found == ["TensorFlow Lite 2.14", "ONNX Runtime 1.18"]


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


def set_float_product(model, graph):
    product = next(o for o in graph.operators if op_name(model, o) == "BATCH_MATMUL")
    graph.tensors[product.outputs[0]].type = schema.TensorType.FLOAT32


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (set_zero_point, "CONV_2D are not symmetric"),
        (set_one_scale, "1 scales for 8 channels"),
        (set_input_scale, "scale 1 and zero point 0"),
        (set_sum, "SUM"),
        (set_float_product, "BATCH_MATMUL computes in float"),
    ],
)
def test_one_fault_in_an_int8_file_is_found(files, edit, problem):
    problems = get("tflite").open(edited(files["tflite", "int8"], edit)).audit(RECIPES["int8"])
    assert any(problem in found for found in problems), problems


def test_a_softmax_may_be_float_in_int8_and_not_in_int8_full(files):
    opened = get("tflite").open(files["tflite", "int8"])
    assert opened.audit(RECIPES["int8"]) == []
    assert "SOFTMAX computes in float" in opened.audit(RECIPES["int8-full"])
    full = get("tflite").open(tiny_files.projection_files().tflite("int8-full"))
    assert full.audit(RECIPES["int8-full"]) == full.audit(RECIPES["int8"]) == []
    assert set(full.dtypes) == {"int8", "int32"}


class OnnxEdit:
    """The int8 model with the look-ups that the edits need."""

    def __init__(self, content: bytes) -> None:
        self.model = onnx.load_from_string(content)
        self.graph = self.model.graph
        self.constants = {item.name: item for item in self.graph.initializer}

    def producer(self, name: str):
        return next(node for node in self.graph.node if name in node.output)

    def all(self, op_type: str) -> list[onnx.NodeProto]:
        return [node for node in self.graph.node if node.op_type == op_type]

    def first(self, op_type: str) -> onnx.NodeProto:
        return self.all(op_type)[0]

    def add(self, name: str, values: np.ndarray) -> str:
        self.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
        return name

    def values(self, name: str) -> np.ndarray:
        return onnx.numpy_helper.to_array(self.constants[name])

    def unquantize_input(self, node, position: int) -> None:
        """Lets an operator read what the one before it computed, without QuantizeLinear and all after it."""
        name = node.input[position]
        while self.producer(name).op_type in ("QuantizeLinear", "DequantizeLinear", "Transpose", "Reshape"):
            name = self.producer(name).input[0]
        assert name != node.input[position]
        node.input[position] = name


def float_weights(edit):
    conv = edit.first("Conv")
    conv.input[1] = edit.add("plain", np.zeros((8, 32, 1, 1), np.float32))


def float_bias(edit):
    edit.first("Conv").input[2] = edit.add("plain", np.zeros(8, np.float32))


def float_input(op_type, number=0):
    return lambda edit: edit.unquantize_input(edit.all(op_type)[number], 0)


def float_between(edit):
    """A new operator between a Conv and its QuantizeLinear."""
    conv = edit.first("Conv")
    conv.output[0], name = "raw", conv.output[0]
    place = list(edit.graph.node).index(conv) + 1
    edit.graph.node.insert(place, onnx.helper.make_node("Sigmoid", ["raw"], [name]))


def wide_activations(edit):
    node = edit.first("QuantizeLinear")
    for reader in edit.graph.node:
        if reader.op_type == "DequantizeLinear" and reader.input[0] == node.output[0]:
            reader.input[2] = "wide"
    node.input[2] = edit.add("wide", np.array(0, np.uint16))


def other_scale(edit):
    edit.producer(edit.first("Mul").input[0]).input[1] = edit.add("other", np.array(0.7, np.float32))


def weight_part(op_type, position, change):
    def edit_part(edit):
        dequantize = edit.producer(edit.first(op_type).input[1])
        values = change(edit.values(dequantize.input[position]))
        dequantize.input[position] = edit.add("changed", values)

    return edit_part


def input_scale(edit):
    edit.first("DequantizeLinear").input[1] = edit.add("other", np.array(1 / 127, np.float32))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (float_weights, "Conv computes in float"),
        (float_bias, "Conv computes in float"),
        (float_input("Mul"), "Mul computes in float"),
        (float_input("Concat"), "Concat computes in float"),
        (float_input("Gemm"), "Gemm computes in float"),
        (float_input("Conv", 1), "Mul computes in float: its result is not quantized"),
        (float_between, "Sigmoid computes in float"),
        (float_between, "Conv computes in float: its result is not quantized"),
        (wide_activations, "activations are uint16, not 8 bits"),
        (other_scale, "read with another scale"),
        (weight_part("Conv", 1, lambda scale: scale[:1]), "Conv have 1 scales for 8 channels"),
        (weight_part("Gemm", 1, lambda scale: scale[:1]), "Gemm have 1 scales for 5 channels"),
        (weight_part("Conv", 1, lambda scale: scale[:4]), "Conv have 4 scales for 8 channels"),
        (weight_part("Conv", 2, lambda zero: zero + np.int8(3)), "Conv are not symmetric"),
        (weight_part("Conv", 0, lambda values: values.astype(np.uint8)), "weights of Conv are uint8"),
        (input_scale, "scale 1 and zero point 0"),
    ],
)
def test_one_fault_in_an_int8_onnx_file_is_found(files, change, problem):
    edit = OnnxEdit(files["onnx", "int8"])
    change(edit)
    problems = get("onnx").open(edit.model.SerializeToString()).audit(RECIPES["int8"])
    assert any(problem in found for found in problems), problems


@pytest.mark.parametrize("kind", tiny_files.KINDS)
def test_the_int8_files_of_every_model_pass(kind):
    content = quantize_static_onnx(
        tiny_files.projection_files(kind).float_onnx, tiny_files.projection_files(kind).onnx_ranges
    ).SerializeToString()
    assert get("onnx").open(content).audit(RECIPES["int8"]) == []


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_bytes_and_parameters_add_up(files, target):
    expected = sum(int(np.prod(weight.shape)) for weight in tiny_files.projection().trainable_weights)
    found = {recipe: get(target).open(files[target, recipe]) for recipe in EVERYWHERE}
    for recipe, entry in found.items():
        assert entry.size_bytes == len(files[target, recipe])
        assert entry.weight_bytes + entry.overhead_bytes == entry.size_bytes
    # Norms become biases: gamma and (of bottlenecks) beta go, one bias a channel comes. Shared constants count once.
    assert found["float32"].parameters == pytest.approx(expected, rel=0.1)
    # In ONNX a factor for each feature that the dense layer reads may come before it, which makes its weights finer.
    features = int(tiny_files.projection().trainable_weights[-2].shape[0])
    added = found["int8"].parameters - found["float32"].parameters
    assert added == (0 if target == "tflite" else features)
    ratio = found["float32"].weight_bytes / found["fp16"].weight_bytes
    assert ratio == pytest.approx(2, rel=0.05)


def test_the_histograms_show_what_the_file_does(files):
    found = get("tflite").open(files["tflite", "int8"])
    assert found.ops["CONV_2D"] == 16
    assert found.dtypes["float32"] == 2  # what the softmax reads and makes
    assert get("onnx").open(files["onnx", "float32"]).ops["Conv"] == 16


def test_the_minimum_runtime_is_recorded(files):
    versions = {recipe: get("tflite").open(files["tflite", recipe]).min_runtime for recipe in EVERYWHERE}
    # Casting an int8 input needs TFLite 2.8; dense layers with scales per channel ran in 2.12; older was not tried.
    assert versions["float32"] == versions["fp16"] == versions["int8-dynamic"] == "TensorFlow Lite 2.8"
    assert versions["int8"] == "TensorFlow Lite 2.12"
    assert get("onnx").open(files["onnx", "int8"]).min_runtime == "ONNX Runtime 1.18"
    text_in = prepend_projection_onnx(onnx.load_from_string(files["onnx", "int8"]), "projection1:pad_to=16")
    assert get("onnx").open(text_in.SerializeToString()).min_runtime == "ONNX Runtime 1.18"


def test_an_unknown_format_is_refused():
    with pytest.raises(ValueError, match="tflite, onnx"):
        get("coreml").open(b"")


# Token models.


@pytest.fixture(scope="module")
def token_files() -> dict[tuple[str, str], bytes]:
    tflite, onnx_model = tiny_files.files().float_tflite, tiny_files.files().float_onnx
    return {
        ("tflite", "float32"): to_float32(tflite),
        ("tflite", "fp16"): to_float16(tflite),
        ("tflite", "int4"): tiny_files.files().tflite("int4"),
        ("tflite", "int8-dynamic"): to_int8_dynamic(tflite),
        ("tflite", "int8"): quantize_static(tflite, tiny_files.files().tflite_ranges),
        ("onnx", "float32"): onnx_model.SerializeToString(),
        ("onnx", "fp16"): to_float16_onnx(onnx_model).SerializeToString(),
        ("onnx", "int4"): tiny_files.files().onnx("int4").SerializeToString(),
        ("onnx", "int8-dynamic"): to_int8_dynamic_onnx(onnx_model).SerializeToString(),
        ("onnx", "int8"): quantize_static_onnx(onnx_model, tiny_files.files().onnx_ranges).SerializeToString(),
    }


@pytest.mark.parametrize("target", ["tflite", "onnx"])
@pytest.mark.parametrize("claimed", OF_TOKENS)
@pytest.mark.parametrize("real", OF_TOKENS)
def test_a_token_model_passes_as_its_own_recipe_and_as_no_other(token_files, target, real, claimed):
    problems = get(target).open(token_files[target, real]).audit(RECIPES[claimed])
    assert bool(problems) == (real != claimed), problems


@pytest.mark.slow
@pytest.mark.parametrize("target", ["tflite", "onnx"])
@pytest.mark.parametrize("fold", ["full", "off"])
@pytest.mark.parametrize("head", tiny_files.HEADS)
def test_int8_files_of_every_head_pass(target, head, fold):
    if target == "tflite":
        content = quantize_static(
            tiny_files.files(head=head, fold=fold).float_tflite, tiny_files.files(head=head, fold=fold).tflite_ranges
        )
    else:
        model = quantize_static_onnx(
            tiny_files.files(head=head, fold=fold).float_onnx, tiny_files.files(head=head, fold=fold).onnx_ranges
        )
        content = model.SerializeToString()
    assert get(target).open(content).audit(RECIPES["int8"]) == []


def test_the_runtimes_that_token_models_need_are_known(token_files):
    found = {recipe: get("tflite").open(token_files["tflite", recipe]).min_runtime for recipe in OF_TOKENS}
    assert found == {
        "float32": "TensorFlow Lite 2.4",
        "fp16": "TensorFlow Lite 2.4",
        "int4": "LiteRT 1.0",
        "int8-dynamic": "TensorFlow Lite 2.4",
        "int8": "TensorFlow Lite 2.12",
    }


@pytest.mark.parametrize("recipe", ["int8-dynamic", "int8"])
def test_an_embedding_left_in_float_is_found(token_files, recipe):
    floats = read_model(token_files["tflite", "float32"])
    model = read_model(token_files["tflite", recipe])

    def tables(of):
        graph = of.subgraphs[0]
        found = [graph.tensors[o.inputs[0]] for o in graph.operators if op_name(of, o) == "GATHER"]
        return [table for table in found if table.shape[0] >= tiny_files.CONVERTED_WORDS]  # padding has a row too

    table = tables(model)[0]
    table.type, table.quantization = schema.TensorType.FLOAT32, None
    model.buffers[table.buffer].data = floats.buffers[tables(floats)[0].buffer].data
    problems = get("tflite").open(write_model(model)).audit(RECIPES[recipe])
    assert any("a table of GATHER is float32" in problem for problem in problems)


@pytest.mark.parametrize("recipe", ["int8-dynamic", "int8"])
def test_an_embedding_left_in_float_is_found_in_onnx(token_files, recipe):
    model = onnx.load_from_string(token_files["onnx", recipe])
    lookup = next(node for node in model.graph.node if node.op_type == "Gather")
    table = next(item for item in model.graph.initializer if item.name == lookup.input[0])
    table.CopyFrom(onnx.numpy_helper.from_array(np.zeros(tuple(table.dims), np.float32), table.name))
    found = lookup.output[0]
    dequantize = next(node for node in model.graph.node if found in node.input)
    for node in model.graph.node:
        node.input[:] = [found if name == dequantize.output[0] else name for name in node.input]
    model.graph.node.remove(dequantize)
    problems = get("onnx").open(model.SerializeToString()).audit(RECIPES[recipe])
    assert any("a table of Gather is float32" in problem for problem in problems)


def test_index_arithmetic_in_int32_is_no_float_compute():
    found = get("tflite").open(tiny_files.files().tflite("int8-full"))
    assert found.ops["CAST"] == 1
    assert set(found.dtypes) == {"int8", "int32"}
    assert found.audit(RECIPES["int8-full"]) == []


def test_a_float_dense_layer_in_an_int8_token_model_is_found(token_files):
    model = read_model(token_files["tflite", "int8"])
    graph = model.subgraphs[0]
    dense = next(o for o in graph.operators if op_name(model, o) == "FULLY_CONNECTED")
    graph.tensors[dense.outputs[0]].type = schema.TensorType.FLOAT32
    problems = get("tflite").open(write_model(model)).audit(RECIPES["int8"])
    assert "FULLY_CONNECTED computes in float" in problems


def test_operators_without_integer_kernel_may_stay_float_in_onnx_and_others_may_not():
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("Add", ["x", "x"], ["a"]),
        helper.make_node("Tanh", ["a"], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("Mul", ["c", "c"], ["y"]),
    ]
    kept = [nodes[position].op_type for position in sorted(float_region(nodes))]
    assert kept == ["Add", "Tanh"]  # the product is behind a Relu, which is not element-wise arithmetic
    values = [helper.make_tensor_value_info(name, kind, [1]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    problems = get("onnx").open(model.SerializeToString()).audit(RECIPES["int8"])
    assert "Relu computes in float" in problems
    assert not any("Tanh" in problem or "Add" in problem for problem in problems)
