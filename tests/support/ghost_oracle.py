"""GhostBERT in plain NumPy and float64, written from its definition alone: loops over heads, ghosts and taps.

The oracle reads weights by name; it does not use the forward pass, its
layout of images, or the rewrites.
"""

import math
from collections.abc import Mapping

import numpy as np

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.network import Network


def oracle(network: Network, given: Mapping[str, np.ndarray]) -> np.ndarray:
    """The hidden states of the last layer, [row, time, hidden], each row by itself."""
    tensors = {name: np.asarray(value, np.float64) for name, value in network.tensors.items()}
    found = [
        _one_row(network.config, tensors, ids, mask, segments)
        for ids, mask, segments in zip(given["ids"], given["mask"], given["segments"], strict=True)
    ]
    return np.stack(found)


def oracle_logits(network: Network, given: Mapping[str, np.ndarray]) -> np.ndarray:
    """Pooler and classifier on the first token."""
    tensors = network.tensors
    pooled = np.tanh(oracle(network, given)[:, 0] @ tensors["pooler.kernel"] + tensors["pooler.bias"])
    return pooled @ tensors["classifier.kernel"] + tensors["classifier.bias"]


def _one_row(
    settings: EncoderConfig, tensors: Mapping[str, np.ndarray], ids: np.ndarray, mask: np.ndarray, segments: np.ndarray
) -> np.ndarray:
    x = (
        tensors["word_embedding"][ids]
        + tensors["position_embedding"][: len(ids)]
        + tensors["segment_embedding"][segments]
    )
    x = _norm(tensors, "embedding_norm", x, settings.outer_norm_epsilon)
    for layer in range(settings.num_layers):
        name = f"layers.{layer}"
        heads = _heads(settings, tensors, name, x, mask)
        out = _combine(settings, tensors, heads, mask, f"{name}.ghost_heads", f"{name}.attention_output")
        x = _norm(tensors, f"{name}.attention_norm", x + out, settings.norm_epsilon)
        middle = _gelu(_dense(tensors, f"{name}.ffn.0.intermediate", x))
        size = settings.intermediate_size // settings.num_heads
        folds = [middle[:, start : start + size] for start in range(0, middle.shape[1], size)]
        out = _combine(settings, tensors, folds, mask, f"{name}.ghost_folds", f"{name}.ffn.0.output")
        x = _norm(tensors, f"{name}.ffn.0.norm", x + out, settings.outer_norm_epsilon)
    return x


def _heads(
    settings: EncoderConfig, tensors: Mapping[str, np.ndarray], name: str, x: np.ndarray, mask: np.ndarray
) -> list[np.ndarray]:
    """What each kept head gives, [time, head size]."""
    size = settings.hidden_size // settings.num_heads
    query, key, value = (_dense(tensors, f"{name}.{part}", x) for part in ("query", "key", "value"))
    found = []
    for start in range(0, query.shape[1], size):
        part = slice(start, start + size)
        scores = query[:, part] @ key[:, part].T / math.sqrt(size)
        scores = np.where(mask[None, :] > 0, scores, -np.inf)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        found.append(weights / weights.sum(1, keepdims=True) @ value[:, part])
    return found


def _combine(
    settings: EncoderConfig,
    tensors: Mapping[str, np.ndarray],
    groups: list[np.ndarray],
    mask: np.ndarray,
    ghost: str,
    output: str,
) -> np.ndarray:
    """The output of attention or of an FFN, from its heads or folds."""
    kernel, bias = tensors[f"{output}.kernel"], tensors[f"{output}.bias"]
    logits = tensors.get(f"{ghost}.kernel")
    if logits is None:
        return np.concatenate(groups, 1) @ kernel + bias
    powers = np.exp(logits)
    taps = powers / powers.sum(0)  # [tap, group, channel, ghost]
    width = groups[0].shape[1]
    if settings.ghost_on == "heads":
        total = bias + sum(group @ kernel[number * width : (number + 1) * width] for number, group in enumerate(groups))
        for number in range(taps.shape[3]):
            made = _one_ghost(groups, taps[..., number], mask)
            # The rows behind those of the groups, channel by channel; in a channel ghost by ghost.
            rows = kernel[len(groups) * width + number :: taps.shape[3]]
            total = total + made @ rows
        return total
    parts = [group @ kernel[number * width : (number + 1) * width] for number, group in enumerate(groups)]
    total = bias + sum(parts)
    for number, gain in enumerate(tensors[f"{ghost}.gain"]):
        total = total + gain * _one_ghost(parts, taps[..., number], mask)
    return total


def _one_ghost(groups: list[np.ndarray], taps: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """ReLU of the sum over the groups of depthwise convolutions; `taps` are [tap, group, channel]."""
    time, total = len(mask), np.zeros_like(groups[0])
    for group, values_of in enumerate(groups):
        for token in range(time):
            for tap in range(len(taps)):
                source = token + tap - len(taps) // 2
                if 0 <= source < time and mask[source]:
                    total[token] += taps[tap, group] * values_of[source]
    return np.maximum(total, 0.0)


def _dense(tensors: Mapping[str, np.ndarray], name: str, x: np.ndarray) -> np.ndarray:
    return x @ tensors[f"{name}.kernel"] + tensors[f"{name}.bias"]


def _norm(tensors: Mapping[str, np.ndarray], name: str, x: np.ndarray, epsilon: float) -> np.ndarray:
    centered = x - x.mean(-1, keepdims=True)
    deviation = np.sqrt(np.square(centered).mean(-1, keepdims=True) + epsilon)
    return centered / deviation * tensors[f"{name}.gamma"] + tensors[f"{name}.beta"]


def _gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))
