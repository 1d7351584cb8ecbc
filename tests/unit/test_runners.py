"""What the runners do around the runtimes: texts, batches, the worker's protocol."""

import subprocess
import sys

import numpy as np
import pytest

from exporters.formats import runners, texts
from exporters.formats.base import load_runner
from exporters.formats.graph import trace
from exporters.formats.model_file import TensorInfo
from exporters.formats.onnx import runner as onnx_runner
from exporters.formats.onnx.convert import to_onnx
from exporters.formats.tflite import runner as tflite_runner
from exporters.formats.tflite.convert import to_tflite
from exporters.formats.tflite.runtime_worker import pack, unpack
from models_tf.errors import InputError
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import schema, tensor_name


def test_tflite_texts_keep_nul_bytes_at_the_end():
    values = tflite_runner.as_input([b"a\x00", b""], {"dtype": np.bytes_, "shape": [1]})
    assert values.dtype == object
    assert values.tolist() == [b"a\x00", b""]


def test_onnx_texts_are_str_and_never_the_python_form_of_bytes():
    assert onnx_runner.as_input(["é".encode(), b""], "tensor(string)").tolist() == ["é", ""]


def test_features_pass_unchanged():
    features = np.ones((2, 3, 4), np.int8)
    assert tflite_runner.as_input(features, {"dtype": np.int8}) is features
    assert onnx_runner.as_input(features, "tensor(int8)") is features


def test_texts_are_padded_bytes_where_a_tflite_file_takes_uint8_and_what_is_too_long_is_cut():
    values = tflite_runner.as_input([b"ab\x00", b"", b"abcdef"], {"dtype": np.uint8, "shape": [1, 4]})
    assert values.dtype == np.uint8
    assert values.tolist() == [[97, 98, 0, 0], [0, 0, 0, 0], [97, 98, 99, 100]]


def test_onnx_takes_bytes_as_they_are_and_one_zero_for_no_text():
    assert onnx_runner.as_input(["é".encode()], "tensor(uint8)").tolist() == [[0xC3, 0xA9]]
    assert onnx_runner.as_input([b""], "tensor(uint8)").tolist() == [[0]]


def test_only_an_input_called_text_of_type_uint8_takes_bytes():
    def info(name, dtype, shape):
        return TensorInfo(name=name, dtype=dtype, shape=shape)

    assert texts.takes_bytes(info("text", "uint8", (1, 64)))
    assert texts.takes_bytes(info("serving_default_text:0", "uint8", (1, "length")))
    assert not texts.takes_bytes(info("image", "uint8", (1, 64)))
    assert not texts.takes_bytes(info("text", "string", (1,)))


@pytest.mark.parametrize("name", [b"ExportMobileSequenceProjection", b"ExportMobile>SequenceProjection"])
def test_a_file_holds_the_projection_op_or_not_by_its_content(name):
    assert texts.holds_projection(b"TFL3 " + name)
    assert not texts.holds_projection(b"TFL3 text")


def test_the_last_batch_is_filled_for_graphs_of_fixed_size():
    filled = runners.fill(np.arange(3), 8)
    assert filled.tolist() == [0, 1, 2, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("texts", [[b"a", b"", b"b\x00c\xff"], [b""], []])
def test_texts_survive_the_way_to_the_worker(texts):
    assert unpack(pack({"text": texts})) == {"text": texts}


def test_arrays_and_texts_by_name_survive_the_way_to_the_worker():
    generator = np.random.default_rng(0)
    feed = {
        "ids": generator.integers(0, 99, (2, 3), dtype=np.int32),
        "text": [b"a", b""],
        "mask": np.ones((2, 3), np.int8),
    }
    found = unpack(pack(feed))
    assert set(found) == set(feed)
    assert found["text"] == feed["text"]
    for name in ("ids", "mask"):
        np.testing.assert_array_equal(found[name], feed[name])
        assert found[name].dtype == feed[name].dtype


def test_a_worker_that_fails_is_one_line(monkeypatch, tmp_path):
    script = "import sys; sys.stdin.buffer.read(); sys.exit('first line\\nlast line')"
    real = subprocess.run
    monkeypatch.setattr(
        tflite_runner.subprocess, "run", lambda command, **options: real([sys.executable, "-c", script], **options)
    )
    runner = tflite_runner.TfliteRuntimeRunner(tmp_path / "x.tflite", inputs=("text",))
    with pytest.raises(runners.RunnerError, match=r"^x.tflite on tflite-runtime: last line$"):
        runner({"text": [b"hello"]})


def test_batches_of_long_rows_are_small_and_never_empty():
    assert runners.batch_rows(64 * 512) == 32
    assert runners.batch_rows(512 * 512) == 8
    assert runners.batch_rows(4096 * 4096) == 1


@pytest.mark.parametrize("content", [b"", b"ExportMobileSequenceProjection"])
def test_tflite_runtime_beside_numpy_2_is_refused_in_one_line_with_the_op_and_without(monkeypatch, content):
    loader = tflite_runner.tflite_loader
    version = loader.importlib.metadata.version
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.setattr(loader, "installed_version", lambda runtime: "2.14.0")
    monkeypatch.setattr(
        loader.importlib.metadata, "version", lambda name: "2.1.0" if name == "numpy" else version(name)
    )
    with pytest.raises(InputError, match=r"^tflite-runtime needs numpy below 2\. Received: numpy 2\.1\.0\."):
        tflite_runner.make_interpreter(content, runtime="tflite-runtime")


def several_outputs(batch: int):
    """A graph with three inputs and two outputs of different sizes; names in an order that is not alphabetical."""
    import tensorflow as tf

    def function(second, first, third):
        total = tf.cast(first, tf.float32) * 100.0 + tf.cast(second, tf.float32) * 10.0 + tf.cast(third, tf.float32)
        return {"wide": total, "narrow": tf.reduce_mean(total, axis=1, keepdims=True)}

    return trace(function, dict.fromkeys(("second", "first", "third"), ((batch, 4), "int32")))


INPUTS = ("first", "second", "third")
FEED = {name: np.arange(20, dtype=np.int32).reshape(5, 4) + 7 * i for i, name in enumerate(INPUTS)}
TOTAL = FEED["first"] * 100.0 + FEED["second"] * 10.0 + FEED["third"]


def written(tmp_path, kind: str):
    path = tmp_path / f"m.{kind}"
    path.write_bytes(
        to_tflite(several_outputs(2)) if kind == "tflite" else to_onnx(several_outputs(1)).SerializeToString()
    )
    return path


@pytest.mark.parametrize("kind", ["tflite", "onnx"])
def test_several_inputs_and_outputs_are_bound_by_name_and_extra_ones_are_ignored(tmp_path, kind):
    outputs = load_runner(written(tmp_path, kind), inputs=INPUTS)({"unused": [b""] * 5, **FEED})
    assert set(outputs) == {"wide", "narrow"}
    np.testing.assert_allclose(outputs["wide"], TOTAL)
    np.testing.assert_allclose(outputs["narrow"], TOTAL.mean(axis=1, keepdims=True))


@pytest.mark.skipif(not tflite_runner.TfliteRuntimeRunner.installed(), reason="tflite-runtime is not installed")
def test_the_worker_takes_and_gives_arrays_by_name(tmp_path):
    outputs = tflite_runner.TfliteRuntimeRunner(written(tmp_path, "tflite"), inputs=INPUTS)(FEED)
    np.testing.assert_allclose(outputs["wide"], TOTAL)
    np.testing.assert_allclose(outputs["narrow"], TOTAL.mean(axis=1, keepdims=True))


@pytest.mark.parametrize("kind", ["tflite", "onnx"])
def test_a_file_with_other_inputs_is_refused(tmp_path, kind):
    with pytest.raises(ValueError, match=r"must have the inputs first, second\. Received: .*third"):
        load_runner(written(tmp_path, kind), inputs=("first", "second"))


def test_every_int8_output_is_scaled_by_its_own_scale(tmp_path):
    model = read_model(to_tflite(several_outputs(2)))
    graph = model.subgraphs[0]
    for position, index in enumerate(graph.outputs):
        tensor = graph.tensors[index]
        tensor.quantization = schema.QuantizationParametersT()
        tensor.quantization.scale = np.array([0.5 + position], np.float32)
        tensor.quantization.zeroPoint = np.array([3 * position], np.int64)
    details = {tensor_name(graph.tensors[i]): graph.tensors[i].quantization for i in graph.outputs}
    path = tmp_path / "q.tflite"
    path.write_bytes(write_model(model))
    runner = load_runner(path, inputs=INPUTS)
    # The graph computes in float, so that the numbers are known; the runner is told that they are int8.
    runner._quantization = {name: (float(q.scale[0]), int(q.zeroPoint[0])) for name, q in details.items()}
    outputs = runner(FEED)
    for name, expected in (("wide", TOTAL), ("narrow", TOTAL.mean(axis=1, keepdims=True))):
        scale, zero_point = runner._quantization[name]
        np.testing.assert_allclose(outputs[name], (expected - zero_point) * scale, rtol=1e-6)
