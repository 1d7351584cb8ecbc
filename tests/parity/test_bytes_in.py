"""Bytes-in graphs against the C++ core: equal features, bit for bit, in every runtime, on generated strings."""

import numpy as np
import onnx
import pytest
from ai_edge_litert.interpreter import Interpreter
from onnx.reference import ReferenceEvaluator

from exporters.bytes_in.settings import BytesIn
from exporters.formats.onnx.bytes_in import bytes_in_model as onnx_model
from exporters.formats.tflite.bytes_in import bytes_in_model as tflite_model
from exporters.formats.tflite.runner import TfliteRuntimeRunner
from models_tf.ops.projection.library import HostProjection
from quantize.onnx.session import make_session
from quantize.tflite.flatbuffer import write_model
from quantize.tflite.graph import OP_NAMES, builtin_code
from support import bytes_fronts, ort_web
from support.bytes_fronts import CONFIGS

FEW, MANY = 4_000, 100_000
# Strings of each config for implementations that take milliseconds a row.
SOME = 40
ALL = sorted(CONFIGS)


def texts_of(name, total):
    return bytes_fronts.texts(name, total * CONFIGS[name][1] // 100)


def expected(name, texts):
    return HostProjection(CONFIGS[name][0]).project(texts)[0]


def in_litert(name, texts):
    config, _ = CONFIGS[name]
    model = write_model(tflite_model(BytesIn(config=config)))
    interpreter = Interpreter(model_content=model, num_threads=1)
    return np.stack(list(bytes_fronts.run_tflite(interpreter, bytes_fronts.rows(texts, config.max_bytes))))


def in_onnx_runtime(name, texts):
    run = make_session(onnx_model(BytesIn(config=CONFIGS[name][0])).SerializeToString()).run
    return np.stack([run(None, {"text": np.frombuffer(text, np.uint8)[None]})[0][0] for text in texts])


def in_tflite_runtime(name, texts, folder):
    config, _ = CONFIGS[name]
    model = write_model(tflite_model(BytesIn(config=config)))
    return bytes_fronts.in_tflite_runtime(model, bytes_fronts.rows(texts, config.max_bytes), folder)


def check(name, texts, features):
    different = np.flatnonzero((features != expected(name, texts)).any(axis=(1, 2)))
    assert different.size == 0, [texts[row] for row in different[:3]]


def test_the_configs_share_all_strings():
    assert sum(share for _, share in CONFIGS.values()) == 100


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("total", [FEW, pytest.param(MANY, marks=pytest.mark.exhaustive)])
def test_litert_equals_the_core(name, total):
    texts = texts_of(name, total)
    check(name, texts, in_litert(name, texts))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("total", [FEW, pytest.param(MANY, marks=pytest.mark.exhaustive)])
def test_onnx_runtime_equals_the_core(name, total):
    texts = texts_of(name, total)
    check(name, texts, in_onnx_runtime(name, texts))


@pytest.mark.skipif(not TfliteRuntimeRunner.installed(), reason="tflite-runtime is not installed")
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("total", [FEW, pytest.param(MANY, marks=pytest.mark.exhaustive)])
def test_tflite_runtime_equals_the_core(name, total, tmp_path):
    texts = texts_of(name, total)
    check(name, texts, in_tflite_runtime(name, texts, tmp_path))


@pytest.mark.parametrize("name", ALL)
def test_onnx_files_are_valid_and_their_reference_equals_the_core(name):
    model = onnx_model(BytesIn(config=CONFIGS[name][0]))
    onnx.checker.check_model(model, full_check=True)
    texts = texts_of(name, FEW)[:SOME]
    run = ReferenceEvaluator(model).run
    check(name, texts, np.stack([run(None, {"text": np.frombuffer(text, np.uint8)[None]})[0][0] for text in texts]))


@pytest.mark.skipif(bool(ort_web.missing()), reason=f"needs {ort_web.missing()}")
def test_onnx_runtime_web_equals_the_core(tmp_path):
    names = ["plain", "long words", "bundled"]
    texts = {name: texts_of(name, FEW)[:SOME] for name in names}
    models = [onnx_model(BytesIn(config=CONFIGS[name][0])) for name in names]
    rows = [[{"text": np.frombuffer(text or b"\0", np.uint8)[None]} for text in texts[name]] for name in names]
    for name, answers in zip(names, ort_web.run(models, rows, tmp_path), strict=True):
        check(name, texts[name], np.concatenate([answer["features"] for answer in answers]))


def test_a_text_needs_no_padding_in_onnx_and_padding_changes_nothing():
    texts = texts_of("plain", FEW)
    run = make_session(onnx_model(BytesIn(config=CONFIGS["plain"][0])).SerializeToString()).run
    for text in texts[:SOME]:
        for room in (0, 1, 7, 100):
            given = np.frombuffer(text + b"\0" * room, np.uint8)[None]
            np.testing.assert_array_equal(run(None, {"text": given})[0], expected("plain", [text]))


@pytest.mark.parametrize("name", ALL)
def test_tflite_files_hold_builtin_operators_alone(name):
    model = tflite_model(BytesIn(config=CONFIGS[name][0]))
    names = {OP_NAMES[builtin_code(code)] for code in model.operatorCodes}
    assert "CUSTOM" not in names
    assert not any(code.customCode for code in model.operatorCodes)
    assert {"BITCAST", "WHILE", "UNSORTED_SEGMENT_SUM"} <= names


@pytest.mark.parametrize("name", ALL)
def test_onnx_files_hold_standard_operators_alone(name):
    model = onnx_model(BytesIn(config=CONFIGS[name][0]))
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 21)]
    assert not model.functions
    assert all(node.domain == "" for node in model.graph.node)


def test_the_front_of_the_bundled_models_takes_at_most_32_kilobytes():
    front = BytesIn(config=CONFIGS["bundled"][0])
    assert len(write_model(tflite_model(front))) <= 32 * 1024
    assert len(onnx_model(front).SerializeToString()) <= 32 * 1024
