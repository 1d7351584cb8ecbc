"""Whole layers: dropping them, and how similar the input and output of each one are.

A layer that changes little contributes little: `similarities` is the cosine of a layer's input and output, averaged
over all tokens except padding. `layer_choice.py` chooses which layers to drop.
"""

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.network import Network

_BY_LAYER = ("kept_heads", "kept_ffn", "ghost_heads", "ghost_folds", "retention")


def drop_layers(network: Network, layers: Collection[int]) -> Network:
    """Without these layers; the rest move down. At least one must stay. Weights go when no layer uses them."""
    config = network.config
    wrong = [layer for layer in layers if not 0 <= layer < config.num_layers]
    if wrong:
        raise ValueError(f"`layers` must be from 0 to {config.num_layers - 1}. Received: {wrong[0]}.")
    kept = [layer for layer in range(config.num_layers) if layer not in set(layers)]
    if not kept:
        raise ValueError(f"At least 1 of {config.num_layers} layers must stay. Received: all to drop.")
    changes: dict[str, Any] = {"num_layers": len(kept)}
    for name in _BY_LAYER:
        values = getattr(config, name)
        if values:
            changes[name] = tuple(values[layer] for layer in kept)
    if not any(changes.get("ghost_heads", ())):
        changes["ghost_heads"] = ()
    if not any(changes.get("ghost_folds", ())):
        changes["ghost_folds"] = ()
    used = list(dict.fromkeys(config.weights_of(layer) for layer in kept))  # in the order of their first use
    if config.shared_layers:
        shared = tuple(used.index(config.weights_of(layer)) for layer in kept)
        changes["shared_layers"] = shared if len(used) < len(kept) else ()
    numbers = {old.removeprefix("layers."): str(new) for new, old in enumerate(used)}
    tensors: dict[str, np.ndarray] = {}
    for name, value in network.tensors.items():
        place, _, rest = name.partition(".")
        if place != "layers":
            tensors[name] = value
            continue
        number, _, part = rest.partition(".")
        if number in numbers:
            tensors[f"layers.{numbers[number]}.{part}"] = value
    smaller = EncoderConfig(**{**config.to_dict(), **changes})
    return dataclasses.replace(network, config=smaller, tensors=tensors)


def similarities(network: Network, batches: Iterable[Mapping[str, Any]]) -> list[float]:
    """The mean cosine of each layer's input and output. `batches` hold int32 ids, mask and segments [batch, time]."""
    import tensorflow as tf

    from models_tf.encoder import forward

    if network.form.first_token_only:
        raise ValueError(
            "Similarities need all tokens of the last layer. Received: a network for the first token only."
        )
    if network.config.retention:
        raise ValueError(
            "Similarities need the same tokens before and behind a layer. Received: layers that drop tokens."
        )
    table = {name: tf.Variable(value, trainable=False) for name, value in network.tensors.items()}

    @tf.function(reduce_retracing=True, autograph=False)
    def cosines(ids: tf.Tensor, mask: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
        inputs, options = {"ids": ids, "mask": mask, "segments": segments}, forward.Options(form=network.form)
        states = forward.run(network.config, network.head, table, **inputs, options=options).hidden_states
        units = [tf.math.l2_normalize(state, -1) for state in states]
        real = tf.cast(mask, units[0].dtype)
        pairs = itertools.pairwise(units)
        return tf.stack([tf.reduce_sum(tf.reduce_sum(before * after, -1) * real) for before, after in pairs])

    total, tokens = np.zeros(network.config.num_layers), 0
    for batch in batches:
        total += cosines(batch["ids"], batch["mask"], batch["segments"]).numpy()
        tokens += int(np.sum(batch["mask"]))
    if not tokens:
        raise ValueError("Similarities need at least one row. Received: none.")
    return [float(value) for value in total / tokens]
