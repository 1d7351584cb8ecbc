"""Tiny PoWER-BERTs and their files: tokens kept by significance, place or chance, and layers that share weights."""

import dataclasses
import functools

import numpy as np

from exporters.sources.mask import choose_mask
from models_tf.encoder import forward, retention
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.heads import Head
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.apply import apply
from support import tiny_encoders
from support.conversions import Files

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
def files(name: str, length: int = LENGTH) -> Files:
    return tiny_encoders.files_of(graph(name, length))


def activations(name: str, values: dict[str, np.ndarray]) -> forward.Activations:
    """Of the network as it is before any rewrite, with PyTorch's mask."""
    of = network(name)
    return forward.run(of.config, of.head, of.tensors, **values)


def margins(name: str, values: dict[str, np.ndarray]) -> np.ndarray:
    """How clearly each row's tokens were chosen; the last layer answers for the first token alone."""
    found = activations(name, values)
    return retention.margin(found.significance[:-1], found.places[:-1], values["mask"]).numpy()
