"""Tiny encoders whose layers share weights, with outlier channels as trained ones have them, and their files.

One is like ALBERT (norm before the embedding's projection, one layer used by all), one is a BERT with two layers in
turn. "wild" is the first with outliers so large that int8 loses the rest without factors.
"""

import functools
from typing import Any

import numpy as np

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.heads import Head
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.apply import apply
from support import tiny_encoders
from support.conversions import Files

RECIPES = ("float32", "fp16", "int8-dynamic", "int8")
BYTES = {"float32": 4, "fp16": 2, "int8-dynamic": 1, "int8": 1}
_SIZES: dict[str, Any] = {
    "vocab_size": tiny_encoders.VOCABULARY,
    "hidden_size": 32,
    "bottleneck_size": 32,
    "num_heads": 4,
    "intermediate_size": 64,
    "max_positions": 24,
}
_ALBERT = EncoderConfig(
    **_SIZES,
    num_layers=3,
    embedding_size=16,
    norm_before_projection=True,
    shared_layers=(0, 0, 0),
    activation="gelu_tanh",
)
CONFIGS = {
    "albert": _ALBERT,
    "in turn": EncoderConfig(**_SIZES, num_layers=4, embedding_size=32, shared_layers=(0, 1, 0, 1)),
    "wild": _ALBERT,
    "own": EncoderConfig(**_SIZES, num_layers=4, embedding_size=32),
}
SHARED = ("albert", "in turn")
HEAD = Head(kind="classification", num_labels=3)
VALUES = tiny_encoders.inputs(40, seed=9)
# As in the tests of static int8 with layer norms. The two outliers have opposite signs, so that the mean that the norm
# subtracts stays where it is.
OUTLIERS = [3, 17]


def _channels(outlier: float, other: float) -> np.ndarray:
    values = np.full(_SIZES["hidden_size"], other, np.float32)
    values[OUTLIERS] = outlier
    return values


@functools.cache
def network(name: str) -> Network:
    config, (large, medium) = CONFIGS[name], (80.0, 32.0) if name == "wild" else (40.0, 8.0)
    tensors = tiny_encoders.random_tensors(config, HEAD)
    for layer in range(len(config.first_uses)):
        own = f"layers.{layer}"
        tensors[f"{own}.ffn.0.output.bias"][OUTLIERS] += (large, -large)
        tensors[f"{own}.ffn.0.norm.gamma"] *= _channels(1.0, large / 4)
        tensors[f"{own}.attention_norm.gamma"] *= _channels(medium, 1.0)
        tensors[f"{own}.ffn.0.intermediate.kernel"] /= _channels(medium, 1.0)[:, None]
    return Network(config=config, head=HEAD, tensors=tensors)


@functools.cache
def graph(name: str) -> NetworkGraph:
    rewritten, _ = apply(network(name), fold="full", max_seq_len=tiny_encoders.LENGTH, one_segment=False)
    return NetworkGraph(rewritten, tiny_encoders.LENGTH, tiny_encoders.MASK)


@functools.cache
def files(name: str) -> Files:
    return tiny_encoders.files_of(graph(name))


def calibration() -> list[dict[str, np.ndarray]]:
    return tiny_encoders.rows(tiny_encoders.inputs(tiny_encoders.CALIBRATION_ROWS))


def matrices(name: str) -> int:
    """Elements of all matrices and tables that the network stores."""
    return sum(values.size for values in graph(name).network.tensors.values() if values.ndim == 2)


def uses(name: str) -> int:
    """How many layers use the weights of one."""
    return CONFIGS[name].num_layers // len(CONFIGS[name].first_uses)


def layers(name: str) -> int:
    """Elements of the matrices of one layer."""
    tensors = graph(name).network.tensors
    return sum(values.size for key, values in tensors.items() if values.ndim == 2 and key.startswith("layers.0."))


def error(found: dict[str, np.ndarray], name: str) -> float:
    """Root mean square over that of the float answers, around their mean of all rows."""
    (expected,) = graph(name).predict(VALUES).values()
    (answers,) = found.values()
    size = np.sqrt(np.mean(np.square(expected - expected.mean(axis=0))))
    return float(np.sqrt(np.mean(np.square(answers - expected))) / size)


# Limits of `error`. float16: a step of 2**-11 of each weight, through all layers. int8: as without sharing, where
# queries and keys are rounded by about 1/60 and give scores of about 6 units: 0.1 in a score is a tenth of an attention
# weight, in every layer; twice that is allowed.
ALLOWED = {"float32": 1e-4, "fp16": 0.02, "int8-dynamic": 0.2, "int8": 0.2}
