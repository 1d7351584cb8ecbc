"""Tiny MobileBERT-shaped networks, their rows and their conversions, made once for all tests of quantization.

Norms, biases and the row of padding are random, gammas have both signs: defaults of 1 and 0 hide bugs.
"""

import functools

import numpy as np

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.heads import Head
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.apply import apply
from support.conversions import Files, run_onnx, run_tflite, single_rows

__all__ = ["run_onnx", "run_tflite"]

HEADS = {
    "classification": Head(kind="classification", num_labels=3),
    "question-answering": Head(kind="question-answering", num_labels=2),
    "base": Head(kind="base"),
}
LENGTH = 16
VOCABULARY = 500
CALIBRATION_ROWS = 64
# Below the scores of these weights by more than their spread; see `mask_value` of `NetworkGraph`.
MASK = -60.0
CONFIG = EncoderConfig(
    vocab_size=VOCABULARY,
    hidden_size=32,
    num_layers=2,
    num_heads=4,
    intermediate_size=32,
    embedding_size=16,
    bottleneck_size=16,
    num_ffn=2,
    max_positions=24,
    use_bottleneck=True,
    key_query_shared=True,
    activation="relu",
    norm="no_norm",
    trigram=True,
    pooler=False,
)


def random_tensors(config: EncoderConfig, head: Head) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    tensors = {}
    for name, shape in config.shapes(head).items():
        if name.endswith("gamma"):
            values = generator.uniform(0.7, 1.2, shape) * generator.choice([1, 1, 1, -1], shape)
        elif name.endswith(("beta", "bias")):
            values = generator.normal(0, 0.1, shape)
        elif name.endswith("kernel"):
            # Queries and keys that give scores of a few units; outputs that do not outgrow the skip path.
            gain = 2.5 if "query" in name or "key" in name else 0.5 if "output" in name else 1.0
            values = generator.normal(0, gain / np.sqrt(shape[0]), shape)
        else:
            values = generator.normal(0, 0.5, shape)
        tensors[name] = values.astype(np.float32)
    return tensors


@functools.cache
def network(head: str = "classification") -> Network:
    return Network(config=CONFIG, head=HEADS[head], tensors=random_tensors(CONFIG, HEADS[head]))


@functools.cache
def graph(head: str = "classification", fold: str = "full", mask_value: float = MASK) -> NetworkGraph:
    rewritten, _ = apply(network(head), fold=fold, max_seq_len=LENGTH, one_segment=False)
    return NetworkGraph(rewritten, LENGTH, mask_value)


def files_of(graph: NetworkGraph) -> Files:
    """The files of a network, with ranges of rows of these tiny encoders."""
    made = {spec.name: ((1, *spec.shape), spec.dtype) for spec in graph.inputs}
    return Files(graph, made, lambda: rows(inputs(CALIBRATION_ROWS)))


@functools.cache
def files(head: str = "classification", fold: str = "full", mask_value: float = MASK) -> Files:
    return files_of(graph(head, fold, mask_value))


def inputs(count: int, seed: int = 1, *, shortest: int = 2) -> dict[str, np.ndarray]:
    """Rows of `shortest` to LENGTH tokens in two segments."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(shortest, LENGTH + 1, (count, 1))
    mask = (np.arange(LENGTH) < lengths).astype(np.int32)
    ids = generator.integers(1, VOCABULARY, (count, LENGTH)).astype(np.int32)
    segments = (np.arange(LENGTH) > lengths // 2).astype(np.int32)
    return {"ids": ids * mask, "mask": mask, "segments": segments * mask}


rows = single_rows


def outputs(values: dict[str, np.ndarray], head: str = "classification", fold: str = "full") -> dict[str, np.ndarray]:
    return graph(head, fold).predict(values)
