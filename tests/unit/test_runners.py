"""What the runners do around the runtimes: texts, batches, the worker's protocol."""

import subprocess
import sys

import numpy as np
import pytest

from exporters.formats import runners
from exporters.formats.base import load_runner
from exporters.formats.graph import trace
from exporters.formats.onnx import runner as onnx_runner
from exporters.formats.onnx.convert import to_onnx
from exporters.formats.tflite import runner as tflite_runner
from exporters.formats.tflite.convert import to_tflite
from exporters.formats.tflite.runtime_worker import pack, unpack
from models_tf.errors import InputError
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import schema, tensor_name


def test_tflite_texts_keep_nul_bytes_at_the_end():
    values = tflite_runner.as_input([b"a\x00", b""])
    assert values.dtype == object
    assert values.tolist() == [b"a\x00", b""]


def test_onnx_texts_are_str_and_never_the_python_form_of_bytes():
    assert onnx_runner.as_input(["é".encode(), b""]).tolist() == ["é", ""]


def test_features_pass_unchanged():
    features = np.ones((2, 3, 4), np.int8)
    assert tflite_runner.as_input(features) is features
    assert onnx_runner.as_input(features) is features


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


@pytest.mark.parametrize("takes", ["features", "text"])
def test_tflite_runtime_beside_numpy_2_is_refused_in_one_line_for_both_graphs(monkeypatch, takes):
    loader = tflite_runner.tflite_loader
    version = loader.importlib.metadata.version
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.setattr(loader, "installed_version", lambda runtime: "2.14.0")
    monkeypatch.setattr(
        loader.importlib.metadata, "version", lambda name: "2.1.0" if name == "numpy" else version(name)
    )
    with pytest.raises(InputError, match=r"^tflite-runtime needs numpy below 2\. Received: numpy 2\.1\.0\."):
        tflite_runner.make_interpreter(b"", inputs=(takes,), runtime="tflite-runtime")


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
