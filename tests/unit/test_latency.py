"""Latency: the median of enough runs, in bounded time, at several lengths, and never an error."""

import dataclasses
import functools
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from exporters.formats import artifacts
from exporters.formats.artifacts import Placed, place
from exporters.formats.base import Artifact
from exporters.formats.graph import Graph
from exporters.formats.tflite.format import TfliteFormat
from exporters.sources.projection import random_features
from exporters.verification import latency as bench
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.prado.config import BRANCHES, PradoConfig
from models_tf.prado.model import Prado
from models_tf.spec import TensorSpec

FEATURE_SIZE, EMBEDDING, BRANCH = 24, 8, 2
CHANNELS = BRANCH * len(BRANCHES)


@functools.cache
def exported(length: int, *, any_length: bool = True) -> tuple[Prado, tuple[Placed, ...]]:
    projection = dataclasses.replace(config(length), pad_to=0)
    settings = {"num_labels": 3, "projection": projection, "max_seq_len": length, "embedding_size": EMBEDDING}
    model = Prado(PradoConfig(**settings, **dict.fromkeys(BRANCHES, BRANCH)))
    inputs = (TensorSpec(name="features", shape=(length, FEATURE_SIZE), dtype="int8"),)
    graph = Graph(
        name="features",
        function=model.features_to_logits,
        inputs=inputs,
        projection=config(length).to_text(),
        any_length=any_length,
    )
    made = artifacts.build(artifacts.convert_all(graph, ("tflite", "onnx")), artifacts.FLOAT)
    return model, tuple(map(placed, made))


def placed(artifact: Artifact) -> Placed:
    path = Path(tempfile.mkdtemp()) / artifact.name
    path.write_bytes(artifact.content)
    return place([artifact], lambda *_: path)[0]


def timed(made, own: int):
    """The rows that a projection model is timed on."""

    def rows(graph: str):
        if graph == "text":
            return {own: {"text": [b"hello"]}}
        return {n: {"features": random_features(n, FEATURE_SIZE)} for n in sorted({*bench.LENGTHS, own})}

    return bench.latencies(made, rows, own=own)


def config(length: int) -> ProjectionConfig:
    return ProjectionConfig(feature_size=FEATURE_SIZE, presence_feature=True, pad_to=length)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(bench, "_SECONDS", 0.0)


def test_a_file_of_any_length_is_timed_at_other_lengths_and_text_at_its_own():
    _, made = exported(CHANNELS)
    rows, notes = timed(made, CHANNELS)
    assert notes == ()
    lengths = (32, 128, 512, CHANNELS)
    assert {(row.file, row.seq_len) for row in rows} == {
        (file.name, length) for file in made for length in (lengths if file.graph == "features" else (CHANNELS,))
    }


def test_a_file_of_one_length_is_timed_at_its_own_and_the_rest_is_a_note():
    _, made = exported(EMBEDDING, any_length=False)
    rows, notes = timed(made, EMBEDDING)
    assert {(row.file, row.seq_len) for row in rows} == {(file.name, EMBEDDING) for file in made}
    assert notes == tuple(
        f"features_float32.{name} was not timed at 32, 128, 512 tokens: the file takes one length."
        for name in ("tflite", "onnx")
    )


def test_an_error_of_a_runtime_is_a_note():
    class Broken(TfliteFormat):
        def start(self, content, feed):
            raise RuntimeError("node 3 failed to prepare.\nmore lines")

    file = next(file for file in exported(CHANNELS)[1] if file.name == "text_float32.tflite")
    rows, notes = timed([dataclasses.replace(file, format=Broken())], 16)
    assert rows == ()
    assert notes == ("text_float32.tflite was not timed at 16 tokens: node 3 failed to prepare.",)


def test_quick_graphs_are_run_often_and_slow_ones_at_least_five_times(monkeypatch):
    monkeypatch.setattr(bench, "_SECONDS", 0.15)
    assert len(bench._times_ms(lambda: None)) == 100
    monkeypatch.setattr(bench, "_SECONDS", 0.0)
    times = bench._times_ms(lambda: time.sleep(0.01))
    assert len(times) == 5
    assert 9.0 < np.median(times) < 100.0


def test_features_are_ternary_and_all_rows_are_real_tokens():
    features = random_features(16, 8)
    assert features.shape == (1, 16, 8)
    assert set(np.unique(features)) == {-1, 0, 1}
    assert (features[:, :, 0] == 1).all()
