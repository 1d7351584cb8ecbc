"""The converted graph of a rewritten network holds the operators it needs and no others, and computes the same."""

import functools
from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest
from ai_edge_litert.interpreter import Interpreter

from exporters.formats.graph import trace
from exporters.formats.onnx.convert import to_onnx
from exporters.formats.tflite.convert import to_tflite
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.rewrites import apply
from quantize.tflite.flatbuffer import read_model
from quantize.tflite.graph import op_name
from support.network_runs import rows
from support.tiny_models import HEADS, TIME, config, network

LAYERS = 3
MASK_VALUE = -30.0
CASES = [("opt", "full"), ("opt", "safe"), ("opt", "off"), ("tiny", "full"), ("bert", "full")]


@functools.cache
def converted(variant: str, fold: str) -> tuple[NetworkGraph, bytes, onnx.ModelProto]:
    source = network(config(variant, num_layers=LAYERS), HEADS["classification"])
    source, _ = apply(source, fold=fold, max_seq_len=TIME, one_segment=fold != "off")
    graph = NetworkGraph(source, TIME, MASK_VALUE)
    function = trace(graph, {spec.name: ((1, *spec.shape), spec.dtype) for spec in graph.inputs})
    return graph, to_tflite(function), to_onnx(function)


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "fold"), CASES)
def test_the_converted_graph_computes_the_same(variant: str, fold: str) -> None:
    graph, tflite, model = converted(variant, fold)
    given = rows()
    expected = graph.predict(given)["logits"]
    names = [spec.name for spec in graph.inputs]
    runner = Interpreter(model_content=tflite).get_signature_runner()
    found = [runner(**{name: given[name][i : i + 1] for name in names})["logits"] for i in range(len(expected))]
    # Float32 sums in another order, and the softmax of another library.
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-4, atol=1e-5)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    together = session.run(["logits"], {name: given[name] for name in names})[0]
    np.testing.assert_allclose(together, expected, rtol=1e-4, atol=1e-5)


def tflite_operators(variant: str, fold: str) -> Counter[str]:
    model = read_model(converted(variant, fold)[1])
    return Counter(op_name(model, operator) for operator in model.subgraphs[0].operators)


def test_a_folded_mobilebert_has_no_operator_too_many_in_tflite() -> None:
    # A layer: 1 + 2 + 1 + 4 * 2 + 1 dense ones with bias and ReLU in them; the last has one more, for the first token.
    # It adds the mask and six skip paths. Four transpositions turn tokens of heads into heads of tokens and back; where
    # there is one query, two of them move nothing.
    assert tflite_operators("opt", "full") == {
        "FULLY_CONNECTED": 13 * LAYERS + 1 + 1,
        "ADD": 7 * LAYERS + 1,
        "TRANSPOSE": 4 * LAYERS - 2,
        "RESHAPE": tflite_operators("opt", "full")["RESHAPE"],
        "BATCH_MATMUL": 2 * LAYERS,
        "SOFTMAX": LAYERS,
        "SPLIT": LAYERS,
        "STRIDED_SLICE": 2,  # the first token, of the layer's input and of the shared bottleneck
        "CONV_2D": 1,
        "GATHER": 1,
        "MUL": 2,  # ids and mask, mask and its value
        "SUB": 1,
        "CAST": 1,
    }
    assert tflite_operators("opt", "full")["RESHAPE"] <= 4 * LAYERS + 4


def test_safe_folding_costs_one_multiplication_a_skip_path() -> None:
    assert tflite_operators("opt", "safe")["MUL"] == 5 * LAYERS + 2
    assert tflite_operators("opt", "safe") - tflite_operators("opt", "full") == {"MUL": 5 * LAYERS}


def test_a_folded_mobilebert_has_no_operator_too_many_in_onnx() -> None:
    nodes = Counter(node.op_type for node in converted("opt", "full")[2].graph.node)
    # A key has no bias: MatMul, not Gemm.
    assert nodes["Gemm"] == 12 * LAYERS + 2
    assert nodes["MatMul"] == 3 * LAYERS
    assert nodes["Add"] == 7 * LAYERS + 1
    assert nodes["Relu"] == 4 * LAYERS
    assert nodes["Transpose"] <= 4 * LAYERS
    assert nodes["Reshape"] <= 5 * LAYERS + 3
    assert nodes["Mul"] == 2
    assert nodes["Conv"] == 1


@pytest.mark.parametrize(("variant", "fold"), CASES)
def test_no_shape_is_computed_at_run_time(variant: str, fold: str) -> None:
    assert not set(tflite_operators(variant, fold)) & {"SHAPE", "PACK", "FILL", "BROADCAST_TO", "RANGE", "WHILE"}
    assert not {node.op_type for node in converted(variant, fold)[2].graph.node} & {"Shape", "Range", "Loop", "Expand"}
