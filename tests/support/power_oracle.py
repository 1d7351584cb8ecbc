"""PoWER-BERT in plain NumPy and float64, written from its definition alone.

Loops over rows, layers, heads and tokens, and a sort by (first token, real before padding, significance, place).
The oracle reads weights by name; it does not use the forward pass or its ranking.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.network import Network


@dataclass
class Row:
    """One text: the places of the tokens that each layer kept (by rank), their significance before that, and the last
    hidden states in the order of `places[-1]`.
    """

    places: list[list[int]] = field(default_factory=list)
    significance: list[np.ndarray] = field(default_factory=list)
    hidden: np.ndarray | None = None


def oracle(
    network: Network,
    given: Mapping[str, np.ndarray],
    *,
    retention: Sequence[int] = (),
    soft: Sequence[np.ndarray] | None = None,
) -> list[Row]:
    """Each row by itself. `retention`: tokens that go on from each layer; `soft`: factors by rank in place of it."""
    tensors = {name: np.asarray(value, np.float64) for name, value in network.tensors.items()}
    return [
        _one_row(network.config, tensors, ids, mask, segments, retention, soft)
        for ids, mask, segments in zip(given["ids"], given["mask"], given["segments"], strict=True)
    ]


def oracle_logits(network: Network, rows: Sequence[Row]) -> np.ndarray:
    """Pooler and classifier on the first token."""
    tensors = network.tensors
    first = np.stack([row.hidden[row.places[-1].index(0)] for row in rows if row.hidden is not None])
    pooled = np.tanh(first @ tensors["pooler.kernel"] + tensors["pooler.bias"])
    return pooled @ tensors["classifier.kernel"] + tensors["classifier.bias"]


def _one_row(
    settings: EncoderConfig,
    tensors: Mapping[str, np.ndarray],
    ids: np.ndarray,
    mask: np.ndarray,
    segments: np.ndarray,
    retention: Sequence[int],
    soft: Sequence[np.ndarray] | None,
) -> Row:
    found = Row()
    x = (
        tensors["word_embedding"][ids]
        + tensors["position_embedding"][: len(ids)]
        + tensors["segment_embedding"][segments]
    )
    x = _norm(tensors, "embedding_norm", x, settings.outer_norm_epsilon)
    places, real = list(range(len(ids))), [bool(value) for value in mask]
    for layer in range(settings.num_layers):
        name = f"layers.{layer}"
        maps = _attention(settings, tensors, name, x, real)
        significance = _significance(settings, maps, places, real)
        order = sorted(range(len(places)), key=lambda token: (token != 0, not real[token], -significance[token], token))
        value = _dense(tensors, f"{name}.value", x)
        size = settings.hidden_size // settings.num_heads
        heads = [weights @ value[:, head * size : (head + 1) * size] for head, weights in enumerate(maps)]
        out = _dense(tensors, f"{name}.attention_output", np.concatenate(heads, 1))
        h = _norm(tensors, f"{name}.attention_norm", x + out, settings.norm_epsilon)
        if soft is not None:
            for rank, token in enumerate(order):
                h[token] *= soft[layer][rank]
            order = list(range(len(places)))
        kept = order[: retention[layer]] if retention else list(range(len(places)))
        h, places, real = h[kept], [places[token] for token in kept], [real[token] for token in kept]
        middle = _gelu(_dense(tensors, f"{name}.ffn.0.intermediate", h))
        out = _dense(tensors, f"{name}.ffn.0.output", middle)
        x = _norm(tensors, f"{name}.ffn.0.norm", h + out, settings.outer_norm_epsilon)
        found.places.append(places)
        found.significance.append(significance)
    found.hidden = x
    return found


def _attention(
    settings: EncoderConfig, tensors: Mapping[str, np.ndarray], name: str, x: np.ndarray, real: Sequence[bool]
) -> list[np.ndarray]:
    """Of each head what every query pays to every key, [query, key]."""
    size = settings.hidden_size // settings.num_heads
    query, key = (_dense(tensors, f"{name}.{part}", x) for part in ("query", "key"))
    found = []
    for head in range(settings.num_heads):
        part = slice(head * size, (head + 1) * size)
        scores = query[:, part] @ key[:, part].T / math.sqrt(size)
        scores = np.where(np.array(real)[None, :], scores, -np.inf)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        found.append(weights / weights.sum(1, keepdims=True))
    return found


def _significance(
    settings: EncoderConfig, maps: Sequence[np.ndarray], places: Sequence[int], real: Sequence[bool]
) -> np.ndarray:
    """What a token is ranked by; of equals the one that stands first."""
    if settings.retention_by == "first":
        return np.array([-float(place) for place in places])
    if settings.retention_by == "random":
        drawn = np.random.default_rng(settings.retention_seed).permutation(settings.max_positions)
        return np.array([float(drawn[place]) for place in places])
    total = np.zeros(len(places))
    for token in range(len(places)):
        for query in range(len(places)):
            if query != token and real[query]:
                total[token] += sum(weights[query, token] for weights in maps) / len(maps)
    return total


def _dense(tensors: Mapping[str, np.ndarray], name: str, x: np.ndarray) -> np.ndarray:
    return x @ tensors[f"{name}.kernel"] + tensors[f"{name}.bias"]


def _norm(tensors: Mapping[str, np.ndarray], name: str, x: np.ndarray, epsilon: float) -> np.ndarray:
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)
    return x * tensors[f"{name}.gamma"] + tensors[f"{name}.beta"]


def _gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
