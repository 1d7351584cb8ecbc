"""Heads and FFN neurons of single layers: reordered, or only some of them kept.

Reordering changes nothing but the order in which products are added. Keeping some is the same as masking the others:
what a removed head or neuron would have added is gone, including the biases before it. Ghosts are made from what is
kept, so they come last (`ghosts.py`): a network that has some is refused. Layers that share weights keep the same.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.network import Network


def keep_heads(network: Network, kept: Sequence[Sequence[int]]) -> Network:
    """`kept[layer]`: the heads that stay, in their new order. Listing all of them only reorders."""
    config = network.config
    _check(network, kept, [config.heads_of(layer) for layer in range(config.num_layers)], "heads")
    size = config.head_size
    columns = [np.concatenate([np.arange(head * size, (head + 1) * size) for head in heads]) for heads in kept]
    tensors = dict(network.tensors)
    for layer in config.first_uses:
        name, picked = config.weights_of(layer), columns[layer]
        for part in ("query", "key", "value"):
            _take(tensors, f"{name}.{part}", picked, axis=1)
        _take(tensors, f"{name}.attention_output", picked, axis=0)
    counts = tuple(len(heads) for heads in kept)
    return _with(network, tensors, kept_heads=() if set(counts) == {config.num_heads} else counts)


def keep_neurons(network: Network, kept: Sequence[Sequence[int]]) -> Network:
    """`kept[layer]`: the FFN neurons that stay, in their new order."""
    config = network.config
    _check(network, kept, [config.ffn_of(layer) for layer in range(config.num_layers)], "neurons")
    tensors = dict(network.tensors)
    for layer in config.first_uses:
        name, picked = config.weights_of(layer), np.asarray(kept[layer])
        _take(tensors, f"{name}.ffn.0.intermediate", picked, axis=1)
        _take(tensors, f"{name}.ffn.0.output", picked, axis=0)
    counts = tuple(len(neurons) for neurons in kept)
    return _with(network, tensors, kept_ffn=() if set(counts) == {config.intermediate_size} else counts)


def _take(tensors: dict[str, np.ndarray], dense: str, picked: np.ndarray, *, axis: int) -> None:
    tensors[f"{dense}.kernel"] = np.ascontiguousarray(np.take(tensors[f"{dense}.kernel"], picked, axis))
    if axis == 1:
        tensors[f"{dense}.bias"] = tensors[f"{dense}.bias"][picked]


def _check(network: Network, kept: Sequence[Sequence[int]], counts: Sequence[int], what: str) -> None:
    config = network.config
    if config.use_bottleneck or config.num_ffn > 1 or config.ghost_heads or config.ghost_folds:
        raise ValueError(f"To keep {what} needs layers without bottlenecks and ghosts. Received: layers with some.")
    if len(kept) != len(counts):
        raise ValueError(f"`kept` must have a list for each of {len(counts)} layers. Received: {len(kept)}.")
    for layer, (numbers, count) in enumerate(zip(kept, counts, strict=True)):
        if not len(numbers) or len(set(numbers)) != len(numbers) or not 0 <= min(numbers) <= max(numbers) < count:
            raise ValueError(
                f"The {what} kept in layer {layer} must be some of 0 to {count - 1}, each once. "
                f"Received: {list(numbers)[:20]}."
            )
        first = [config.weights_of(one) for one in range(len(kept))].index(config.weights_of(layer))
        if list(kept[first]) != list(numbers):
            raise ValueError(
                f"Layers {first} and {layer} share weights and must keep the same {what}. "
                f"Received: {list(kept[first])[:20]} and {list(numbers)[:20]}."
            )


def _with(network: Network, tensors: dict[str, np.ndarray], **changes: tuple[int, ...]) -> Network:
    config = EncoderConfig(**{**network.config.to_dict(), **changes})
    return dataclasses.replace(network, config=config, tensors=tensors)
