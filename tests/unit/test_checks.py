"""What is compared with what, and with which limit."""

import dataclasses

import numpy as np
import pytest

from exporters.data.text_rows import TextRows
from exporters.formats.artifacts import Converted, place
from exporters.formats.base import FORMATS
from exporters.formats.graph import Graph
from exporters.formats.runners import KerasRunner
from exporters.formats.tflite.format import TfliteFormat
from exporters.verification import checks
from exporters.verification.verify import verify
from models_tf.ops.projection.library import HostProjection
from quantize.recipe import RECIPES
from quantize.tflite.flatbuffer import read_model, write_model
from support import tiny_files

PROJECTION = dataclasses.replace(tiny_files.projection().config.projection, pad_to=tiny_files.TEXT_LENGTH)
TEXTS = [f"play song number {i} for {i * i} people" for i in range(21)]


@pytest.fixture(autouse=True)
def no_other_runtime(monkeypatch):
    """Each start of it takes a second, and nothing here is about it."""

    class Alone(TfliteFormat):
        def other_runtimes(self, path, *, inputs):
            return []

    monkeypatch.setitem(FORMATS, "tflite", Alone())


def batched_parity(tmp_path, recipe: str, edit=lambda model: None):
    """Parity of the second signature, after an edit of the features-in file."""
    one, eight = tiny_files.projection_files().float_tflite, tiny_files.projection_files(batch=8).float_tflite
    graph = Graph(name="features", function=len, inputs=(), projection=PROJECTION.to_text())
    converted = Converted(format=TfliteFormat(), graph=graph, model={"serving_default": one, "batch_8": eight})
    features, _ = converted.quantize(RECIPES[recipe], lambda: tiny_files.feature_rows(tiny_files.features(20)))
    model = read_model(features.content)
    edit(model)
    path = tmp_path / features.name
    path.write_bytes(write_model(model))
    model, host = tiny_files.projection(), HostProjection(PROJECTION)
    keras = KerasRunner(lambda features: {"logits": model.features_to_logits(features)}, inputs=("features",))
    planned, _ = checks.for_projection(keras, [], place([features], lambda *_: path), rows=8)
    data = TextRows(keys=TEXTS, targets=None, project=lambda texts: host.project(texts)[0])
    parities = verify(planned, [], data).parities
    (found,) = [parity for parity in parities if parity.candidate.endswith("(batch_8)")]
    return found


@pytest.mark.parametrize("recipe", [name for name in RECIPES if name != "int4"])  # which refuses these models
def test_the_batched_signature_of_every_recipe_equals_the_one_for_a_row_within_its_limit(tmp_path, recipe):
    parity = batched_parity(tmp_path, recipe)
    assert parity.limit is not None
    assert parity.passed


def stretch_a_scale(model):
    """One activation of the second signature gets a scale 2 % larger: all results stay near the right ones."""
    graph = model.subgraphs[1]
    quantization = graph.tensors[graph.operators[-1].inputs[0]].quantization
    quantization.scale = np.asarray(quantization.scale) * np.float32(1.02)


def test_an_int8_batched_signature_that_differs_by_a_little_fails(tmp_path):
    parity = batched_parity(tmp_path, "int8", stretch_a_scale)
    assert parity.max_abs < 1.0
    assert not parity.passed
    assert "expected exactly equal" in parity.failure()


def break_a_weight_scale(model):
    """The dense layer of the second signature reads its weights as four times as large."""
    graph = model.subgraphs[1]
    quantization = graph.tensors[graph.operators[-1].inputs[1]].quantization
    quantization.scale = np.asarray(quantization.scale) * np.float32(4)


def test_a_dynamic_batched_signature_that_computes_something_else_fails(tmp_path):
    assert not batched_parity(tmp_path, "int8-dynamic", break_a_weight_scale).passed
