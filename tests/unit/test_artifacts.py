"""From float models to files: what a recipe cannot take is the user's input."""

import numpy as np
import pytest

from exporters.formats.artifacts import Converted
from exporters.formats.base import get
from exporters.formats.graph import Graph
from models_tf.errors import InputError
from quantize.errors import RecipeError
from quantize.recipe import RECIPES
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import buffer_bytes, op_name, schema
from support import tiny_files


def with_a_large_weight(content: bytes) -> bytes:
    """The float model with one value that float16 cannot hold."""
    model = read_model(content)
    graph = model.subgraphs[0]
    dense = next(o for o in graph.operators if op_name(model, o) == "FULLY_CONNECTED")
    tensor = graph.tensors[dense.inputs[1]]
    values = np.frombuffer(buffer_bytes(model, tensor), np.float32).copy()
    values[0] = 1e6
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(values.tobytes(), np.uint8)
    model.buffers = [*model.buffers, buffer]
    tensor.buffer = len(model.buffers) - 1
    return write_model(model)


def test_weights_too_large_for_float16_are_bad_input_that_names_the_limit():
    large = with_a_large_weight(tiny_files.projection_files().float_tflite)
    graph = Graph(name="model", function=len, inputs=())
    converted = Converted(format=get("tflite"), graph=graph, model={"serving_default": large})
    with pytest.raises(InputError, match=r"fp16 needs weights below 65504\. Received: 1e\+06 in 'prado") as caught:
        converted.quantize(RECIPES["fp16"])
    assert isinstance(caught.value.__cause__, RecipeError)
