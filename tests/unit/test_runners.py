"""What the runners do around the runtimes: texts, batches, the worker's protocol."""

import subprocess
import sys

import numpy as np
import pytest

from exporters import runners
from exporters.tflite_runtime_worker import pack, unpack
from models_tf.errors import InputError


def test_tflite_texts_keep_nul_bytes_at_the_end():
    values = runners.tflite_input([b"a\x00", b""])
    assert values.dtype == object
    assert values.tolist() == [b"a\x00", b""]


def test_onnx_texts_are_str_and_never_the_python_form_of_bytes():
    assert runners.onnx_input(["é".encode(), b""]).tolist() == ["é", ""]


def test_features_pass_unchanged():
    features = np.ones((2, 3, 4), np.int8)
    assert runners.tflite_input(features) is features
    assert runners.onnx_input(features) is features


def test_the_last_batch_is_filled_for_graphs_of_fixed_size():
    filled = runners._fill(np.arange(3), 8)
    assert filled.tolist() == [0, 1, 2, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("texts", [[b"a", b"", b"b\x00c\xff"], [b""], []])
def test_texts_survive_the_way_to_the_worker(texts):
    assert unpack(pack(texts)) == texts


def test_features_survive_the_way_to_the_worker():
    features = np.random.default_rng(0).integers(-128, 128, (2, 3, 4), dtype=np.int8)
    np.testing.assert_array_equal(unpack(pack(features)), features)


def test_a_worker_that_fails_is_one_line(monkeypatch, tmp_path):
    script = "import sys; sys.stdin.buffer.read(); sys.exit('first line\\nlast line')"
    real = subprocess.run
    monkeypatch.setattr(
        runners.subprocess, "run", lambda command, **options: real([sys.executable, "-c", script], **options)
    )
    runner = runners.TfliteRuntimeRunner(tmp_path / "x.tflite", takes="text")
    with pytest.raises(runners.RunnerError, match=r"^x.tflite on tflite-runtime: last line$"):
        runner([b"hello"])


def test_batches_of_long_rows_are_small_and_never_empty():
    assert runners.batch_rows(64 * 512) == 32
    assert runners.batch_rows(512 * 512) == 8
    assert runners.batch_rows(4096 * 4096) == 1


@pytest.mark.parametrize("takes", ["features", "text"])
def test_tflite_runtime_beside_numpy_2_is_refused_in_one_line_for_both_graphs(monkeypatch, takes):
    loader = runners.tflite_loader
    version = loader.importlib.metadata.version
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.setattr(loader, "installed_version", lambda runtime: "2.14.0")
    monkeypatch.setattr(
        loader.importlib.metadata, "version", lambda name: "2.1.0" if name == "numpy" else version(name)
    )
    with pytest.raises(InputError, match=r"^tflite-runtime needs numpy below 2\. Received: numpy 2\.1\.0\."):
        runners.tflite_interpreter(b"", takes=takes, runtime="tflite-runtime")
