"""What ranks tokens may be float in an int8 file, and nothing else: the rule, and audits of files that break it."""

import onnx
import pytest

from exporters.formats.base import get
from quantize import significance
from quantize.recipe import RECIPES
from quantize.significance import ADD, CAST, ELEMENT, MEAN, MOVE, OTHER, SOFTMAX, TOP, Step
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import op_name, schema
from support import tiny_files

INT8 = RECIPES["int8"]


def step(kind: str, reads: str, writes: str) -> Step:
    return Step(kind=kind, reads=tuple(reads.split()), writes=tuple(writes.split()))


LAYER = {
    "mask": step(CAST, "mask", "real"),
    "bias": step(ELEMENT, "real", "bias"),
    "scores": step(OTHER, "query key", "scores"),
    "masked": step(ADD, "scores bias", "masked"),
    "softmax": step(SOFTMAX, "masked", "weights"),
    "mean": step(MEAN, "weights", "mean"),
    "votes": step(ELEMENT, "mean real", "votes"),
    "top": step(TOP, "votes", "values places"),
    "flat": step(MOVE, "weights", "flat"),
    "picked": step(MOVE, "flat", "picked"),
    "context": step(OTHER, "picked value", "context"),
    "sum": step(ADD, "context skip", "sum"),
    "left": step(MOVE, "real", "left"),
    "next_bias": step(ELEMENT, "left", "next_bias"),
    "next_scores": step(OTHER, "sum key", "next_scores"),
    "next_masked": step(ADD, "next_scores next_bias", "next_masked"),
    "next_softmax": step(SOFTMAX, "next_masked", "next_weights"),
}


def ranked(layer: dict[str, Step]) -> set[str]:
    names = list(layer)
    return {names[position] for position in significance.ranking(list(layer.values()))}


def test_what_ranks_is_float_and_the_products_beside_it_are_not():
    assert ranked(LAYER) == {
        "mask", "bias", "masked", "softmax", "mean", "votes", "top", "flat", "picked", "left", "next_bias"
    }  # fmt: skip


def test_without_a_top_k_nothing_is():
    assert ranked({name: one for name, one in LAYER.items() if name != "top"}) == set()


def test_the_first_tokens_are_ranked_without_the_softmax():
    layer = {**LAYER, "votes": step(ELEMENT, "number real", "votes")}
    assert ranked(layer) == {"mask", "votes", "top", "bias", "left", "next_bias"}


def test_no_product_is_followed():
    layer = {**LAYER, "votes": step(OTHER, "mean real", "votes")}
    assert ranked(layer) == {"top"}


def in_float(model, inner, operator) -> None:
    for index in (*operator.inputs, *operator.outputs):
        if index >= 0 and inner.tensors[int(index)].type == schema.TensorType.INT8:
            inner.tensors[int(index)].type = schema.TensorType.FLOAT32


def tflite_with(kind: str, number: int) -> bytes:
    """The int8 file with one of its operators in float."""
    model = read_model(tiny_files.files("significance").tflite("int8"))
    inner = model.subgraphs[0]
    found = [operator for operator in inner.operators if op_name(model, operator) == kind]
    in_float(model, inner, found[number])
    return write_model(model)


# The products of the first layer.
@pytest.mark.parametrize(
    ("kind", "number"), [("BATCH_MATMUL", 0), ("BATCH_MATMUL", 1), ("FULLY_CONNECTED", 0), ("TANH", 0)]
)
def test_anything_else_in_float_is_refused_in_tflite(kind, number):
    assert any("computes in float" in problem for problem in get("tflite").open(tflite_with(kind, number)).audit(INT8))


def onnx_with(kind: str, number: int) -> bytes:
    """The int8 file with one operator that reads what was there before it was rounded."""
    model = onnx.ModelProto()
    model.CopyFrom(tiny_files.files("significance").onnx("int8"))
    producers = {output: node for node in model.graph.node for output in node.output}
    node = [node for node in model.graph.node if node.op_type == kind][number]
    dequantize = producers[node.input[0]]
    assert dequantize.op_type == "DequantizeLinear"
    node.input[0] = producers[dequantize.input[0]].input[0]
    return model.SerializeToString()


@pytest.mark.parametrize(("kind", "number"), [("MatMul", 1), ("Gemm", 0)])
def test_anything_else_in_float_is_refused_in_onnx(kind, number):
    assert any("computes in float" in problem for problem in get("onnx").open(onnx_with(kind, number)).audit(INT8))


def test_the_files_as_they_are_pass():
    assert get("tflite").open(tiny_files.files("significance").tflite("int8")).audit(INT8) == []
    content = tiny_files.files("significance").onnx("int8").SerializeToString()
    assert get("onnx").open(content).audit(INT8) == []
