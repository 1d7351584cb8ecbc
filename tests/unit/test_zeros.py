"""Zeros in model files: counted in both formats, float and int8, and shown where they are many."""

import dataclasses
import gzip
import random
import re
import zlib

import numpy as np
import onnx
import pytest
import tf_keras as keras

from exporters.formats import zeros
from exporters.formats.base import get
from exporters.report.report import FileRecord
from support.reports import FILE, make


def dense(share: float) -> np.ndarray:
    generator = np.random.default_rng(0)
    values = generator.normal(size=(32, 48)).astype(np.float32)
    values[np.abs(values) < 0.02] = 0.02
    values[generator.random(values.shape) < share] = 0.0
    return values


def onnx_file(values: np.ndarray, zero_point: int | None = None) -> bytes:
    inits = [onnx.numpy_helper.from_array(values, "w"), onnx.numpy_helper.from_array(np.zeros(48, np.float32), "b")]
    nodes = [onnx.helper.make_node("MatMul", ["x", "w" if zero_point is None else "d"], ["y"])]
    if zero_point is not None:
        inits.append(onnx.numpy_helper.from_array(np.float32(0.1), "s"))
        inits.append(onnx.numpy_helper.from_array(values.dtype.type(zero_point), "z"))
        nodes.insert(0, onnx.helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"]))
    ports = [onnx.helper.make_tensor_value_info(name, 1, None) for name in "xy"]
    graph = onnx.helper.make_graph(nodes, "g", ports[:1], ports[1:], inits)
    return onnx.helper.make_model(graph).SerializeToString()


def tflite_file(values: np.ndarray, *, int8: bool = False) -> bytes:
    import tensorflow as tf

    model = keras.Sequential([keras.layers.Dense(48, input_shape=(32,))])
    model.set_weights([values, np.zeros(48, np.float32)])
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT] if int8 else []
    return converter.convert()


@pytest.mark.parametrize("share", [0.0, 0.7])
def test_zeros_of_float_files_are_counted_without_biases(share: float) -> None:
    values = dense(share)
    wanted = float((values == 0).mean())
    assert get("onnx").open(onnx_file(values)).zero_share() == wanted
    assert get("tflite").open(tflite_file(values)).zero_share() == wanted


def test_a_weight_of_an_8_bit_file_is_zero_at_its_zero_point() -> None:
    generator = np.random.default_rng(1)
    values = generator.integers(0, 4, (32, 48)).astype(np.uint8)
    assert get("onnx").open(onnx_file(values, 3)).zero_share() == float((values == 3).mean())
    pruned = dense(0.7)
    found = get("tflite").open(tflite_file(pruned, int8=True)).zero_share()
    wanted = float((pruned == 0).mean())
    assert wanted <= found < wanted + 0.02  # rounding makes some more


def test_compression_finds_zeros_only() -> None:
    full, pruned = (onnx_file(dense(share)) for share in (0.0, 0.8))
    assert len(full) == len(pruned)
    assert zeros.compressed_bytes(full) > 0.85 * len(full)
    assert zeros.compressed_bytes(pruned) < 0.4 * len(pruned)


def test_the_report_shows_compressed_bytes_of_a_pruned_file_and_says_that_it_is_no_faster() -> None:
    pruned = dataclasses.replace(FILE, zero_weights=0.6, compressed_bytes=456)
    report = make(files=(pruned, FileRecord(name="labels.txt", size_bytes=5, sha256="1" * 64)))
    assert re.search(r"compressed; 60.0 % of the weights are zero +456\n", report.summary())
    for text in (report.to_markdown(), report.summary()):
        assert zeros.NOTE in text
    assert "| text_int8.tflite | 60.0 % | 1,000 | 456 |" in report.to_markdown()
    assert report.to_dict()["files"][0]["compressed_bytes"] == 456
    assert zeros.NOTE not in make().to_markdown()
    assert "compressed" not in make().summary()


@pytest.mark.parametrize("content", [b"", b"x", bytes(3 << 20), random.Random(0).randbytes(2_500_000)], ids=len)
def test_the_compressed_size_of_pieces_is_that_of_the_whole(content):
    assert zeros.gzip_bytes(content) == len(gzip.compress(content, 6, mtime=0))
    assert zeros.compressed_bytes(content) == len(zlib.compress(content, 9))
