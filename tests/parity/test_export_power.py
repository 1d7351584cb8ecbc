"""Files of PoWER-BERT: what they answer, what they are made of, and that tokens are ranked in float in every recipe."""

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest

from exporters.formats.base import get
from exporters.formats.tflite.runner import TfliteRuntimeRunner
from exporters.verification.parity import UNDECIDED_MARGIN
from models_tf.encoder import retention
from quantize.recipe import FLOAT_RTOL, RECIPES
from quantize.tflite.flatbuffer import read_model
from quantize.tflite.graph import TYPE_NAMES, buffer_bytes, is_constant, op_name
from support import tiny_files
from support.conversions import EVERYWHERE, OF_TOKENS
from support.tiny_models import CONVERTED, HEADS, KEPT, LENGTH, POWER

VALUES = tiny_files.inputs(40, seed=9)
every_variant = pytest.mark.parametrize("name", POWER)
both_formats = pytest.mark.parametrize("target", ["tflite", "onnx"])
# Root mean square of the error over that of the answers. float16 has a step of 2**-11 of each weight. int8: scores of a
# few units are rounded by a tenth, which is a tenth of an attention weight in each layer; where that moves a token
# across the top-k border, the row answers from another token. So: the limit of layers that keep all tokens, and half as
# much again.
ALLOWED = {"fp16": 0.02, "int8-dynamic": 0.3, "int8": 0.3}


def answers(name: str, recipe: str, target: str) -> np.ndarray:
    if target == "tflite":
        return tiny_files.run_tflite(tiny_files.files(name).tflite(recipe), VALUES)["logits"]
    return tiny_files.run_onnx(tiny_files.files(name).onnx(recipe), VALUES)["logits"]


def expected(name: str) -> np.ndarray:
    return np.asarray(tiny_files.activations(name, VALUES).outputs["logits"])


def margins(name: str) -> np.ndarray:
    """How clearly each row's tokens were chosen; the last layer answers for the first token alone."""
    found = tiny_files.activations(name, VALUES)
    return retention.margin(found.significance[:-1], found.places[:-1], VALUES["mask"]).numpy()


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    size = np.sqrt(np.mean(np.square(wanted - wanted.mean(axis=0))))
    return float(np.sqrt(np.mean(np.square(found - wanted))) / size)


@pytest.mark.slow
@both_formats
@every_variant
def test_float_files_answer_as_the_model_does(name, target):
    decided = margins(name) > UNDECIDED_MARGIN
    assert decided.mean() > 0.95
    wanted = expected(name)
    difference = np.abs(answers(name, "float32", target) - wanted)[decided]
    assert difference.max() <= FLOAT_RTOL * np.abs(wanted).max()


@both_formats
@pytest.mark.parametrize("recipe", ALLOWED)
@every_variant
def test_quantized_files_follow_the_model(name, recipe, target):
    assert error(answers(name, recipe, target), expected(name)) <= ALLOWED[recipe]


@both_formats
@pytest.mark.parametrize("recipe", OF_TOKENS)
@every_variant
def test_a_file_is_what_its_recipe_says(name, recipe, target):
    model = tiny_files.files(name).tflite(recipe) if target == "tflite" else tiny_files.files(name).onnx(recipe)
    content = model if isinstance(model, bytes) else model.SerializeToString()
    found = get(target).open(content)
    assert found.audit(RECIPES[recipe]) == []
    assert found.min_runtime


@pytest.mark.skipif(not TfliteRuntimeRunner.installed(), reason="tflite-runtime is not installed")
@pytest.mark.parametrize("recipe", EVERYWHERE)
def test_tflite_runtime_2_14_runs_the_files(recipe, tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(tiny_files.files("significance").tflite(recipe))
    found = TfliteRuntimeRunner(path, inputs=("ids", "mask", "segments"))(VALUES)["logits"]
    assert error(found, expected("significance")) <= ALLOWED.get(recipe, 1e-3)


@pytest.mark.parametrize("recipe", OF_TOKENS)
@every_variant
def test_tflite_has_builtin_ops_and_static_shapes_only(name, recipe):
    model = read_model(tiny_files.files(name).tflite(recipe))
    inner = model.subgraphs[0]
    assert all(code.customCode is None for code in model.operatorCodes)
    for tensor in inner.tensors:
        assert all(size > 0 for size in tensor.shape if tensor.shape is not None)
        assert tensor.shapeSignature is None or -1 not in tensor.shapeSignature
    counts = Counter(op_name(model, operator) for operator in inner.operators)
    assert counts["TOPK_V2"] == len(KEPT) - 1  # the last layer is asked for the first token alone
    assert counts["SOFTMAX"] == len(KEPT)
    assert counts["BATCH_MATMUL"] == 2 * len(KEPT)


@pytest.mark.parametrize("recipe", OF_TOKENS)
@every_variant
def test_onnx_has_operators_of_the_standard_and_static_shapes_only(name, recipe):
    model = tiny_files.files(name).onnx(recipe)
    onnx.checker.check_model(model)
    assert {node.domain for node in model.graph.node} == {""}
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    kinds = {value.name: value.type.tensor_type for value in inferred.value_info}
    counts = Counter(node.op_type for node in model.graph.node)
    assert counts["TopK"] == len(KEPT) - 1
    kept = [kinds[node.output[1]].shape.dim[-1].dim_value for node in model.graph.node if node.op_type == "TopK"]
    assert kept == list(KEPT[:-1])


@every_variant
def test_rows_of_the_attention_weights_are_picked_before_the_product_with_the_values(name):
    model = read_model(tiny_files.files(name).tflite("float32"))
    inner = model.subgraphs[0]
    shapes = [
        [int(size) for size in inner.tensors[int(operator.outputs[0])].shape]
        for operator in inner.operators
        if op_name(model, operator) == "BATCH_MATMUL"
    ]
    heads, size = CONVERTED[name].config.num_heads, CONVERTED[name].config.head_size
    tokens = (LENGTH, *KEPT)
    for layer, (scores, context) in enumerate(zip(shapes[::2], shapes[1::2], strict=True)):
        last = layer == len(KEPT) - 1
        assert scores == [1, heads, 1 if last else tokens[layer], tokens[layer]]
        assert context == [1, heads, 1 if last else tokens[layer + 1], size]


def made_by(model: Any, inner: Any) -> dict[int, Any]:
    return {int(index): operator for operator in inner.operators for index in operator.outputs}


@pytest.mark.parametrize("name", ["significance", "shared"])
def test_tflite_int8_ranks_in_float_and_multiplies_in_int8(name):
    model = read_model(tiny_files.files(name).tflite("int8"))
    inner = model.subgraphs[0]
    producers = made_by(model, inner)
    ranked = 0
    for top in inner.operators:
        if op_name(model, top) != "TOPK_V2":
            continue
        waiting, seen = [int(top.inputs[0])], set()
        while waiting:
            index = waiting.pop()
            operator = producers.get(index)
            if operator is None or index in seen:
                continue
            seen.add(index)
            kind = op_name(model, operator)
            assert TYPE_NAMES[inner.tensors[index].type] == "FLOAT32", kind
            assert kind not in ("QUANTIZE", "DEQUANTIZE")
            if kind == "SOFTMAX":
                ranked += 1
                continue
            # Of a GATHER the rows, not the numbers by which they are picked.
            waiting += [int(i) for i in (operator.inputs[:1] if kind in ("GATHER", "CAST") else operator.inputs)]
    assert ranked == len(KEPT) - 1
    for operator in inner.operators:
        if op_name(model, operator) in ("BATCH_MATMUL", "FULLY_CONNECTED"):
            indices = [int(i) for i in (*operator.inputs, *operator.outputs) if i >= 0]
            assert {TYPE_NAMES[inner.tensors[i].type] for i in indices} <= {"INT8", "INT32"}


@every_variant
def test_tflite_int8_rounds_nothing_twice_in_a_row(name):
    """A QUANTIZE reads float: from int8 to int8 would be a second rounding."""
    model = read_model(tiny_files.files(name).tflite("int8"))
    inner = model.subgraphs[0]
    read = [
        TYPE_NAMES[inner.tensors[int(operator.inputs[0])].type]
        for operator in inner.operators
        if op_name(model, operator) == "QUANTIZE"
    ]
    assert set(read) == {"FLOAT32"}


@pytest.mark.parametrize("name", ["significance", "shared"])
def test_onnx_int8_rounds_nothing_between_the_softmax_and_the_top_k(name):
    inner = tiny_files.files(name).onnx("int8").graph
    producers = {output: node for node in inner.node for output in node.output}
    ranked = 0
    for top in inner.node:
        if top.op_type != "TopK":
            continue
        waiting, seen = [top.input[0]], set()
        while waiting:
            output = waiting.pop()
            node = producers.get(output)
            if node is None or output in seen:
                continue
            seen.add(output)
            assert node.op_type not in ("QuantizeLinear", "DequantizeLinear", "MatMul", "Gemm")
            if node.op_type == "Softmax":
                ranked += 1
                continue
            waiting += list(node.input[:1] if node.op_type in ("Gather", "Cast") else node.input)
    assert ranked == len(KEPT) - 1


@pytest.mark.parametrize("recipe", OF_TOKENS)
def test_an_order_by_chance_is_stored_exactly(recipe):
    order = np.random.default_rng(3).permutation(CONVERTED["random"].config.max_positions)
    model = read_model(tiny_files.files("random").tflite(recipe))
    inner = model.subgraphs[0]
    tables = [
        np.frombuffer(buffer_bytes(model, tensor), np.int32)
        for tensor in inner.tensors
        if is_constant(model, tensor) and TYPE_NAMES[tensor.type] == "INT32" and list(tensor.shape) == [len(order)]
    ]
    assert any(np.array_equal(table, order) for table in tables)
    constants = [onnx.numpy_helper.to_array(item) for item in tiny_files.files("random").onnx(recipe).graph.initializer]
    assert any(np.array_equal(values, order) for values in constants if values.dtype == np.int32)


def test_the_files_differ_in_what_they_keep():
    """Otherwise the tests above would hold for any of the strategies."""
    found = [expected(name) for name in ("significance", "first", "random")]
    assert HEADS["classification"].num_labels == found[0].shape[1]
    assert error(found[1], found[0]) > 0.1
    assert error(found[2], found[0]) > 0.1
