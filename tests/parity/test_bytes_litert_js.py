"""Bytes-in graphs in LiteRT.js: features equal those of the C++ core, bit for bit, and answers those of LiteRT."""

import csv
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

import models_tf
from exporters.bytes_in.settings import BytesIn
from exporters.formats.tflite.bytes_in import bytes_in_model
from models_tf.ops.projection.library import HostProjection
from quantize.tflite.flatbuffer import write_model
from quantize.tflite.graph import add_tensor, new_operator, schema
from support import bytes_fronts, export_command, litert_js
from support.bytes_fronts import CONFIGS

TEXTS = 200

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(bool(litert_js.missing()), reason=f"needs {litert_js.missing()}"),
]


def front(name, *, answers_float):
    model = bytes_in_model(BytesIn(config=CONFIGS[name][0]))
    if answers_float:
        (graph, *_), kind = model.subgraphs, schema.TensorType.FLOAT32
        features = graph.outputs[0]
        graph.outputs = [add_tensor(graph, graph.tensors[features], kind, "floats")]
        graph.operators.append(new_operator(model, schema.BuiltinOperator.CAST, 1, [features], graph.outputs))
        for signature in model.signatureDefs or []:
            signature.outputs[0].tensorIndex = graph.outputs[0]
    return write_model(model)


@pytest.mark.parametrize("name", ["plain", "vocabulary", "long words", "bundled"])
def test_litert_js_equals_the_core(name, tmp_path):
    config, _ = CONFIGS[name]
    texts = bytes_fronts.texts(name, TEXTS)
    rows = bytes_fronts.rows(texts, config.max_bytes)
    expected = HostProjection(config).project(texts)[0]
    features = litert_js.answers(front(name, answers_float=True), {"text": rows}, tmp_path).reshape(expected.shape)
    different = np.flatnonzero((features != expected).any(axis=(1, 2)))
    assert different.size == 0, [texts[row] for row in different[:3]]


def test_litert_js_has_no_int8_outputs(tmp_path):
    """So the front alone cannot be used there; whole files answer float32."""
    rows = np.zeros((1, CONFIGS["plain"][0].max_bytes), np.uint8)
    with pytest.raises(litert_js.RefusedError, match="Element type INT8 is not supported"):
        litert_js.answers(front("plain", answers_float=False), {"text": rows}, tmp_path)


def test_a_whole_file_answers_as_in_litert(tmp_path):
    flags = ("--model", "prado", "--task", "snips", "--quantize", "int8", "--graphs", "bytes", "--target", "tflite")
    done = export_command.run(*flags, "--outputs", "labels", "--output", "export", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    model = (tmp_path / "export" / "bytes_int8.tflite").read_bytes()
    table = Path(models_tf.__file__).parent / "bundled" / "snips" / "eval.tsv"
    with table.open(encoding="utf-8", newline="") as file:
        texts = [row["text"].encode() for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][:TEXTS]
    interpreter = Interpreter(model_content=model, num_threads=1)
    rows = bytes_fronts.rows(texts, interpreter.get_input_details()[0]["shape"][1])
    expected = np.stack(list(bytes_fronts.run_tflite(interpreter, rows)))
    found = litert_js.answers(model, {"text": rows}, tmp_path).reshape(expected.shape)
    # Equal, where it was run; kernels of other processors may round a value on the edge of two int8 steps otherwise.
    np.testing.assert_array_equal(found.argmax(1), expected.argmax(1))
    assert np.abs(found - expected).max() <= 0.02 * np.ptp(expected)
