"""Tiny PoWER-BERTs and their files: tokens kept by significance, by place and by chance, and with layers that share weights."""

import dataclasses
import functools
from typing import Any

import numpy as np

from exporters.formats.graph import trace
from exporters.formats.onnx.convert import to_onnx
from exporters.formats.tflite.convert import to_tflite
from exporters.sources.mask import choose_mask
from models_tf.encoder import forward, retention
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.heads import Head
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.apply import apply
from quantize.onnx.calibrate import calibrate as calibrate_onnx
from quantize.onnx.static import quantize_static as quantize_static_onnx
from quantize.onnx.weights import to_float16 as to_float16_onnx
from quantize.onnx.weights import to_int8_dynamic as to_int8_dynamic_onnx
from quantize.tflite.calibrate import calibrate
from quantize.tflite.static import quantize_static
from quantize.tflite.weights import to_float16, to_float32, to_int8_dynamic
from support import tiny_encoders

RECIPES = ("float32", "fp16", "int8-dynamic", "int8")
LENGTH = tiny_encoders.LENGTH
KEPT = (11, 6, 1)
HEAD = Head(kind="classification", num_labels=3)
_BERT = dataclasses.replace(
    tiny_encoders.CONFIG,
    num_layers=3,
    num_ffn=1,
    norm="layer_norm",
    activation="gelu",
    trigram=False,
    pooler=True,
    embedding_size=32,
    bottleneck_size=32,
    use_bottleneck=False,
    key_query_shared=False,
    max_positions=80,  # enough for a table that a recipe would store in eight bits
    retention=KEPT,
)
CONFIGS = {
    "significance": _BERT,
    "first": dataclasses.replace(_BERT, retention_by="first"),
    "random": dataclasses.replace(_BERT, retention_by="random", retention_seed=3),
    "shared": dataclasses.replace(_BERT, shared_layers=(0, 0, 0)),
}
VALUES = tiny_encoders.inputs(40, seed=9)


def network(name: str) -> Network:
    return Network(config=CONFIGS[name], head=HEAD, tensors=tiny_encoders.random_tensors(CONFIGS[name], HEAD))


@functools.cache
def graph(name: str, length: int = LENGTH) -> NetworkGraph:
    rows = tiny_encoders.inputs(tiny_encoders.CALIBRATION_ROWS)
    rewritten, _ = apply(network(name), fold="full", max_seq_len=length, one_segment=False, rows=rows)
    return NetworkGraph(rewritten, length, choose_mask(rewritten, rows, batch=16))


@functools.cache
def _traced(name: str, length: int = LENGTH) -> Any:
    made = graph(name, length)
    return trace(made, {spec.name: ((1, *spec.shape), spec.dtype) for spec in made.inputs})


@functools.cache
def float_tflite(name: str, length: int = LENGTH) -> bytes:
    return to_tflite(_traced(name, length))


@functools.cache
def float_onnx(name: str, length: int = LENGTH) -> Any:
    return to_onnx(_traced(name, length))


def calibration() -> list[dict[str, np.ndarray]]:
    return tiny_encoders.rows(tiny_encoders.inputs(tiny_encoders.CALIBRATION_ROWS))


@functools.cache
def tflite(name: str, recipe: str) -> bytes:
    content = float_tflite(name)
    if recipe == "int8":
        return quantize_static(content, calibrate(content, calibration()))
    return {"float32": to_float32, "fp16": to_float16, "int8-dynamic": to_int8_dynamic}[recipe](content)


@functools.cache
def onnx_model(name: str, recipe: str) -> Any:
    model = float_onnx(name)
    if recipe == "int8":
        return quantize_static_onnx(model, calibrate_onnx(model, calibration()))
    if recipe == "float32":
        return model
    return {"fp16": to_float16_onnx, "int8-dynamic": to_int8_dynamic_onnx}[recipe](model)


def activations(name: str, values: dict[str, np.ndarray]) -> forward.Activations:
    """Of the network as it is before any rewrite, with PyTorch's mask."""
    of = network(name)
    return forward.run(of.config, of.head, of.tensors, **values)


def margins(name: str, values: dict[str, np.ndarray]) -> np.ndarray:
    """How clearly each row's tokens were chosen; the last layer answers for the first token alone."""
    found = activations(name, values)
    return retention.margin(found.significance[:-1], found.places[:-1], values["mask"]).numpy()
