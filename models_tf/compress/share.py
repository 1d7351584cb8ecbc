"""Layers that share their weights, as in ALBERT: separate layers become a few groups.

`first` gives a group the weights of its first layer, `mean` the mean of all its layers. If the layers of a group are
equal the network computes the same; otherwise it is a starting point for training, where the gradient of a shared
weight is the sum over its uses. `unshare` is the reverse: every layer gets its own copy.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from models_tf.compress.settings import FIRST, SHARE_FROM
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.network import Network


def groups_of(layers: int, groups: int) -> tuple[int, ...]:
    """The group of each layer: neighbours, in groups of equal size if possible. ALBERT's rule."""
    if not 1 <= groups <= layers:
        raise ValueError(f"Layers must fall into 1 to {layers} groups. Received: {groups}.")
    return tuple(layer * groups // layers for layer in range(layers))


def share_layers(network: Network, groups: int, *, start: str = FIRST) -> Network:
    """All layers of a group use one set of weights, which starts as `start` says. They must have the same width."""
    if start not in SHARE_FROM:
        raise ValueError(f"`start` must be one of {', '.join(SHARE_FROM)}. Received: {start!r}.")
    config = network.config
    if config.ghost_heads or config.ghost_folds or config.use_bottleneck:
        raise ValueError("To share layers needs layers without bottlenecks and ghosts. Received: layers with some.")
    shared = groups_of(config.num_layers, groups)
    for layer, group in enumerate(shared):
        first = shared.index(group)
        widths = [(config.heads_of(one), config.ffn_of(one)) for one in (first, layer)]
        if widths[0] != widths[1]:
            raise ValueError(
                f"Layers that share weights must have as many heads and FFN neurons. "
                f"Received: {widths[0][0]} heads and {widths[0][1]} neurons in layer {first}, "
                f"{widths[1][0]} and {widths[1][1]} in layer {layer}."
            )
    tensors = {name: value for name, value in network.tensors.items() if not name.startswith("layers.")}
    for group in range(groups):
        members = [layer for layer in range(config.num_layers) if shared[layer] == group]
        for part, values in _parts(network, members if start != FIRST else members[:1]).items():
            tensors[f"layers.{group}.{part}"] = values
    return _with(network, shared if groups < config.num_layers else (), tensors)


def unshare(network: Network) -> Network:
    """The same function with separate weights for every layer."""
    if not network.config.shared_layers:
        return network
    tensors = {name: value for name, value in network.tensors.items() if not name.startswith("layers.")}
    for layer in range(network.config.num_layers):
        for part, values in _parts(network, [layer]).items():
            tensors[f"layers.{layer}.{part}"] = values.copy()
    return _with(network, (), tensors)


def _parts(network: Network, layers: Sequence[int]) -> dict[str, np.ndarray]:
    """The weights of some layers by their names within a layer; the mean if there are several."""
    found: dict[str, np.ndarray] = {}
    prefixes = [f"{network.config.weights_of(layer)}." for layer in layers]
    for name, value in network.tensors.items():
        if name.startswith(prefixes[0]):
            part = name.removeprefix(prefixes[0])
            if len(set(prefixes)) == 1:
                found[part] = value
            else:
                total = sum(network.tensors[prefix + part].astype(np.float64) for prefix in prefixes)
                found[part] = np.asarray(total / len(prefixes)).astype(value.dtype)
    return found


def _with(network: Network, shared: tuple[int, ...], tensors: dict[str, np.ndarray]) -> Network:
    config = EncoderConfig(**{**network.config.to_dict(), "shared_layers": shared})
    ordered = {name: tensors[name] for name in config.shapes(network.head) if name in tensors}
    return dataclasses.replace(network, config=config, tensors={**ordered, **tensors})
