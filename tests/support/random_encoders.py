"""Small encoders with random weights, and rows for them, for tests of the forward pass and of rewrites.

All weights are random: gammas of both signs, biases, the PAD row. They are scaled so that 24 layers stay
well-conditioned: with larger ones attention picks single tokens, and float32 rounding alone changes which.
"""

from typing import Any

import numpy as np

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.heads import BASE, CLASSIFICATION, QUESTION_ANSWERING, TOKEN_CLASSIFICATION, Head
from models_tf.encoder.network import Network

VOCABULARY, TIME = 61, 12
HEADS = {
    "base": Head(kind=BASE),
    "classification": Head(kind=CLASSIFICATION, num_labels=3),
    "regression": Head(kind=CLASSIFICATION, num_labels=1),
    "tokens": Head(kind=TOKEN_CLASSIFICATION, num_labels=5),
    "questions": Head(kind=QUESTION_ANSWERING, num_labels=2),
}
_OPT: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "embedding_size": 8,
    "hidden_size": 32,
    "bottleneck_size": 16,
    "num_heads": 2,
    "intermediate_size": 24,
    "use_bottleneck": True,
    "key_query_shared": True,
    "num_ffn": 4,
    "activation": "relu",
    "norm": "no_norm",
    "trigram": True,
    "pooler": False,
    "max_positions": 20,
    "num_layers": 3,
}
# What differs from MobileBERT as published.
VARIANTS: dict[str, dict[str, Any]] = {
    "opt": {},
    "tiny": {"use_bottleneck_attention": True, "key_query_shared": False, "num_ffn": 2},
    "both-bottlenecks": {"use_bottleneck_attention": True},
    "not-shared": {"key_query_shared": False},
    "no-trigram": {"trigram": False},
    "no-projection": {"trigram": False, "embedding_size": 32},
    "no-bottleneck": {"use_bottleneck": False, "bottleneck_size": 32, "key_query_shared": False, "num_ffn": 1},
    "gelu": {"activation": "gelu"},
    "relu6": {"activation": "relu6", "num_ffn": 3},
    "pooler": {"pooler": True},
    "layer-norm": {"norm": "layer_norm", "activation": "gelu_tanh", "norm_epsilon": 1e-12, "outer_norm_epsilon": 1e-5},
    "bert": {
        "use_bottleneck": False,
        "bottleneck_size": 32,
        "embedding_size": 32,
        "trigram": False,
        "key_query_shared": False,
        "num_ffn": 1,
        "activation": "gelu",
        "norm": "layer_norm",
        "pooler": True,
    },
}
VARIANTS |= {
    "factorized": {**VARIANTS["bert"], "embedding_size": 8},
    "shared": {**VARIANTS["bert"], "num_layers": 4, "shared_layers": (0, 0, 1, 1)},
    "albert": {**VARIANTS["bert"], "embedding_size": 8, "norm_before_projection": True, "shared_layers": (0, 0, 0)},
}
SIZES = {"vocab_size": 500, "embedding_size": 128, "hidden_size": 512, "bottleneck_size": 128, "intermediate_size": 512}


def config(variant: str = "opt", **changes: Any) -> EncoderConfig:
    return EncoderConfig(**{**_OPT, **VARIANTS[variant], **changes})


def values(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    if name.endswith(".gamma"):
        return rng.uniform(0.6, 1.3, shape) * rng.choice([-1, 1], shape)
    if name.endswith((".bias", ".beta")):
        return rng.normal(0, 0.2, shape)
    return rng.normal(0, 0.5 / np.sqrt(shape[0]) if name.endswith(".kernel") else 1, shape)


def network(settings: EncoderConfig, head: Head, *, seed: int = 0, dtype: Any = np.float32) -> Network:
    rng = np.random.default_rng(seed)
    tensors = {name: values(rng, name, shape).astype(dtype) for name, shape in settings.shapes(head).items()}
    return Network(config=settings, head=head, tensors=tensors)


def rows(
    count: int = 4, *, time: int = TIME, vocabulary: int = VOCABULARY, padded: bool = True, seed: int = 1
) -> dict[str, np.ndarray]:
    """Both segments; padded rows have 1 to `time` tokens, the first one has all, and PAD (0) behind them."""
    rng = np.random.default_rng(seed)
    lengths = np.r_[time, rng.integers(1, time, count - 1)] if padded else np.full(count, time)
    mask = np.arange(time) < lengths[:, None]
    return {
        "ids": (rng.integers(1, vocabulary, (count, time)) * mask).astype(np.int32),
        "mask": mask.astype(np.int32),
        "segments": rng.integers(0, 2, (count, time)).astype(np.int32),
    }


def answers(of: Network, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return NetworkGraph(of, given["ids"].shape[1]).predict(given)


def relative_error(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> float:
    """Largest error of any output, as a share of its largest value."""
    assert set(found) == set(expected)
    errors = [np.abs(found[name] - expected[name]).max() / np.abs(expected[name]).max() for name in expected]
    return float(max(errors))
