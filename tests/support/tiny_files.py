"""The files of the rows `CONVERTED` and `PROJECTION` of `tiny_models`, each made once, their inputs and their runs."""

import functools
from typing import Any

import numpy as np
import tensorflow as tf

from exporters.sources.mask import choose_mask
from models_tf.encoder import forward
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.apply import apply
from support import conversions
from support.conversions import Files, run_onnx, run_tflite, single_rows
from support.tiny_models import CONVERTED, CONVERTED_WORDS, LENGTH, PROJECTION, converted_network, projection_model

__all__ = ["LENGTH", "run_onnx", "run_tflite", "single_rows"]

CALIBRATION_ROWS = 64
# Below the scores of these weights by more than their spread; see `mask_value` of `NetworkGraph`.
MASK = -60.0
# Those that every test of conversion looks at.
HEADS = ("classification", "question-answering", "base")


def inputs(count: int, seed: int = 1, *, shortest: int = 2) -> dict[str, np.ndarray]:
    """Rows of `shortest` to LENGTH tokens in two segments."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(shortest, LENGTH + 1, (count, 1))
    mask = (np.arange(LENGTH) < lengths).astype(np.int32)
    ids = generator.integers(1, CONVERTED_WORDS, (count, LENGTH)).astype(np.int32)
    segments = (np.arange(LENGTH) > lengths // 2).astype(np.int32)
    return {"ids": ids * mask, "mask": mask, "segments": segments * mask}


def other_padding(values: dict[str, np.ndarray], seed: int = 3) -> dict[str, np.ndarray]:
    """The same tokens with other ids and segments in padding. The graph replaces the ids and takes the segments."""
    generator = np.random.default_rng(seed)
    padding = 1 - values["mask"]
    ids = values["ids"] + padding * generator.integers(1, CONVERTED_WORDS, padding.shape)
    segments = values["segments"] + padding * generator.integers(0, 2, padding.shape)
    return {"ids": ids.astype(np.int32), "mask": values["mask"], "segments": segments.astype(np.int32)}


def calibration() -> list[dict[str, np.ndarray]]:
    return single_rows(inputs(CALIBRATION_ROWS))


def graph_of(
    network: Network, *, fold: str = "full", length: int = LENGTH, mask_value: float | None = None
) -> NetworkGraph:
    """As it is exported; by default with the mask that the export would choose."""
    rows = inputs(CALIBRATION_ROWS) if mask_value is None else None
    rewritten, _ = apply(network, fold=fold, max_seq_len=length, one_segment=False, any_length=True, rows=rows)
    chosen = choose_mask(rewritten, rows, batch=16) if mask_value is None else mask_value
    return NetworkGraph(rewritten, length, chosen)


@functools.cache
def graph(
    name: str = "mobilebert",
    head: str = "classification",
    fold: str = "full",
    *,
    mask_value: float = MASK,
    length: int = LENGTH,
) -> NetworkGraph:
    mask = None if CONVERTED[name].chosen_mask else mask_value
    return graph_of(converted_network(name, head), fold=fold, length=length, mask_value=mask)


def files_of(graph: NetworkGraph) -> Files:
    """The files of a network, with ranges of the rows of `calibration`."""
    inputs = {spec.name: ((1, *spec.shape), spec.dtype) for spec in graph.inputs}
    return Files(graph, inputs, calibration, any_length=graph.any_length)


@functools.cache
def fixed_files(graph: NetworkGraph) -> Files:
    """The same of one length."""
    return Files(graph, {spec.name: ((1, *spec.shape), spec.dtype) for spec in graph.inputs}, calibration)


@functools.cache
def files(name: str = "mobilebert", head: str = "classification", fold: str = "full", **options: Any) -> Files:
    return files_of(graph(name, head, fold, **options))


def activations(name: str, values: dict[str, np.ndarray]) -> forward.Activations:
    """Of the network as it is before any rewrite, with PyTorch's mask."""
    of = converted_network(name)
    return forward.run(of.config, of.head, of.tensors, **values)


# PRADO and SGNN.

KINDS = ("prado", "sgnn")
FEATURE_SIZE, TEXT_LENGTH = PROJECTION["prado"].projection.feature_size, PROJECTION["prado"].max_seq_len
projection = functools.cache(projection_model)


def features(count: int, seed: int = 1) -> np.ndarray:
    """Texts of 1 to TEXT_LENGTH tokens: ternary values, column 0 marks the tokens, zeros after them."""
    generator = np.random.default_rng(seed)
    x = generator.choice(np.array([-1, 0, 0, 1], np.int8), (count, TEXT_LENGTH, FEATURE_SIZE))
    x[:, :, 0] = 1
    for row, length in enumerate(generator.integers(1, TEXT_LENGTH + 1, count)):
        x[row, length:] = 0
    return x


def feature_rows(values: np.ndarray) -> list[dict[str, np.ndarray]]:
    return single_rows({"features": values})


def logits(values: np.ndarray, kind: str = "prado") -> np.ndarray:
    return projection(kind).features_to_logits(tf.constant(values)).numpy()


@functools.cache
def projection_files(kind: str = "prado", batch: int = 1) -> Files:
    given = {"features": ((batch, TEXT_LENGTH, FEATURE_SIZE), "int8")}
    made = projection(kind)
    rows = functools.partial(feature_rows, features(CALIBRATION_ROWS))
    return Files(made.features_to_logits, given, rows, any_length=made.any_length)


def projection_tflite(content: bytes, values: np.ndarray, **options: Any) -> np.ndarray:
    """Logits of LiteRT; options as in `conversions.run_tflite`."""
    return conversions.run_tflite(content, {"features": values}, **options)["logits"]


def projection_onnx(onnx_model: Any, values: np.ndarray, *, one_by_one: bool = False) -> np.ndarray:
    return conversions.run_onnx(onnx_model, {"features": values}, one_by_one=one_by_one)["logits"]
