"""Networks with their files, made once, for tests of the profile."""

import functools
from typing import Any

import numpy as np

from exporters.formats import artifacts, base
from exporters.formats.graph import Graph
from exporters.profiling.parts import OpGraph, Plan
from exporters.profiling.timing import Timing
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.apply import apply
from quantize.recipe import RECIPES
from support.network_runs import rows
from support.tiny_models import HEADS, TIME, config, ghost_config, network

MASK = -40.0
# Name -> shape in `tiny_models`, head.
PLAIN = {
    "bert": ("bert", "classification"),
    "opt": ("opt", "classification"),
    "opt-questions": ("opt", "question-answering"),
    "tiny": ("tiny", "base"),
}
GHOSTS = {"ghosts on heads": "heads", "ghosts on outputs": "outputs"}
NETWORKS = (*PLAIN, *GHOSTS)
# Layers that share weights; those are counted once and multiplied by often.
SHARED = {"albert": ("albert", "classification")}


@functools.cache
def original(name: str) -> Network:
    if name in GHOSTS:
        # Two folds at least: of a single one tf2onnx computes the output twice, once with the bias and once without.
        return network(ghost_config(ghost_on=GHOSTS[name], kept_ffn=(16, 32, 24)))
    variant, head = (PLAIN | SHARED)[name]
    return network(config(variant), HEADS[head])


@functools.cache
def rewritten(name: str, fold: str = "full") -> Network:
    return apply(original(name), fold=fold, max_seq_len=TIME, one_segment=False)[0]


def feed(name: str, fold: str = "full") -> dict[str, np.ndarray]:
    """One row with padding."""
    given = rows(2, seed=3)
    names = [spec.name for spec in NetworkGraph(rewritten(name, fold), TIME, MASK).inputs]
    return {key: given[key][1:2] for key in names}


@functools.cache
def files(name: str, fold: str = "full", recipe: str = "float32") -> dict[str, bytes]:
    made = NetworkGraph(rewritten(name, fold), TIME, MASK)
    given = {spec.name: rows()[spec.name] for spec in made.inputs}
    graph = Graph(name="model", function=made, inputs=made.inputs, rows=given)

    def calibration() -> Any:
        return ({key: values[i : i + 1] for key, values in given.items()} for i in range(4))

    return {
        file.format: file.content
        for file in artifacts.build(_converted(name, fold, graph), RECIPES[recipe], calibration)
    }


_kept: dict[tuple[str, str], list[artifacts.Converted]] = {}


def _converted(name: str, fold: str, graph: Graph) -> list[artifacts.Converted]:
    if (name, fold) not in _kept:
        _kept[name, fold] = artifacts.convert_all(graph, ("tflite", "onnx"))
    return _kept[name, fold]


def op_graph(content: bytes, target: str) -> OpGraph:
    owner = base.get(target)
    return owner.op_graph(owner.open(content))


def measure(content: bytes, target: str, plan: Plan, given: dict[str, np.ndarray]) -> tuple[Timing, dict[str, int]]:
    """In five rounds."""
    owner = base.get(target)
    return owner.measure(owner.open(content), plan, given, 5)
