"""Latency: the median of enough runs, in bounded time, at lengths that the files do not have, and never an error."""

import dataclasses
import functools
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from exporters.formats import artifacts, other_length
from exporters.formats.artifacts import Placed, place
from exporters.formats.base import Artifact
from exporters.formats.graph import Graph
from exporters.formats.onnx.format import OnnxFormat
from exporters.formats.onnx.runner import session_for
from exporters.formats.tflite.format import TfliteFormat
from exporters.formats.tflite.runner import make_interpreter
from exporters.sources.projection import random_features
from exporters.verification import latency as bench
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.prado.config import BRANCHES, PradoConfig
from models_tf.prado.model import Prado
from models_tf.spec import TensorSpec

FEATURE_SIZE, EMBEDDING, BRANCH = 24, 8, 2
CHANNELS = BRANCH * len(BRANCHES)


@functools.cache
def exported(length: int) -> tuple[Prado, tuple[Placed, ...]]:
    projection = dataclasses.replace(config(length), pad_to=0)
    settings = {"num_labels": 3, "projection": projection, "max_seq_len": length, "embedding_size": EMBEDDING}
    model = Prado(PradoConfig(**settings, **dict.fromkeys(BRANCHES, BRANCH)))
    inputs = (TensorSpec(name="features", shape=(length, FEATURE_SIZE), dtype="int8"),)
    graph = Graph(
        name="features", function=model.features_to_logits, inputs=inputs, projection=config(length).to_text()
    )
    made = artifacts.build(artifacts.convert(graph, ("tflite", "onnx")), artifacts.FLOAT)
    return model, tuple(map(placed, made))


def placed(artifact: Artifact) -> Placed:
    path = Path(tempfile.mkdtemp()) / artifact.name
    path.write_bytes(artifact.content)
    return place(artifact, path)


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


# Sizes of other axes of the graph, which could be taken for time.
@pytest.mark.parametrize("own", [CHANNELS, EMBEDDING, FEATURE_SIZE])
def test_time_is_found_although_another_axis_has_the_same_size(own):
    _, made = exported(own)
    rows, notes = timed(made, own)
    assert notes == ()
    assert {(row.file, row.seq_len) for row in rows} == {
        (file.name, length) for file in made for length in ((32, 128, 512, own) if file.graph == "features" else (own,))
    }


@pytest.mark.parametrize("own", [CHANNELS, EMBEDDING, FEATURE_SIZE])
def test_the_copy_computes_what_the_model_of_that_length_computes(own):
    length = 17
    model, made = exported(own)
    features = random_features(length, FEATURE_SIZE)
    expected = model.features_to_logits(features).numpy()
    for file in made:
        if file.graph != "features":
            continue
        copy = next(file.format.copies(file.file.content, own=own, length=length))
        if file.format.name == "onnx":
            logits = session_for(copy, inputs=("features",)).run(None, {"features": features})[0]
        else:
            interpreter = make_interpreter(copy, inputs=("features",))
            interpreter.resize_tensor_input(0, features.shape)
            interpreter.allocate_tensors()
            interpreter.set_tensor(0, features)
            interpreter.invoke()
            logits = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        np.testing.assert_allclose(logits, expected, atol=1e-4)


def test_a_file_of_one_token_is_timed_at_its_own_length_and_the_rest_is_a_note():
    _, made = exported(1)
    rows, notes = timed(made, 1)
    assert {(row.file, row.seq_len) for row in rows} == {(file.name, 1) for file in made}
    assert len(notes) == 2
    assert notes[0] == (
        "features_float32.tflite was not timed at 32, 128, 512 tokens: "
        "a time axis of size 1 cannot be told from the other axes of size 1."
    )


def test_a_wrong_axis_is_passed_over_when_the_graph_does_not_run_with_it(monkeypatch):
    own = CHANNELS
    file = next(file for file in exported(own)[1] if file.name == "features_float32.onnx")
    wrong, right = (next(file.format.copies(file.file.content, own=own, length=size)) for size in (31, 32))

    class Shuffled(OnnxFormat):
        def copies(self, content, **options):
            return iter([wrong, right])

    file = dataclasses.replace(file, format=Shuffled())
    monkeypatch.setattr(bench, "LENGTHS", (32,))
    rows, notes = timed([file], own)
    assert [row.seq_len for row in rows] == [own, 32]
    assert notes == ()


def test_an_error_of_a_runtime_is_a_note():
    class Broken(TfliteFormat):
        def start(self, content, feed):
            raise RuntimeError("node 3 failed to prepare.\nmore lines")

    file = next(file for file in exported(CHANNELS)[1] if file.name == "text_float32.tflite")
    rows, notes = timed([dataclasses.replace(file, format=Broken())], 16)
    assert rows == ()
    assert notes == ("text_float32.tflite was not timed at 16 tokens: node 3 failed to prepare.",)


def test_shapes_that_may_be_meant_are_ordered_by_likelihood():
    assert other_length.choices((64, 1, 64, 64), 64, 32) == [
        (64, 1, 32, 64),
        (32, 1, 64, 64),
        (64, 1, 64, 32),
        (64, 1, 64, 64),
    ]
    assert other_length.choices((-1, 64), 64, 32) == [(-1, 64), (-1, 32)]
    assert other_length.choices((-1, 9), 64, 32) == [(-1, 9)]


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
