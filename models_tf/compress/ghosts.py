"""Ghosts for a network that has none: the result computes the same until it is trained. See `models_tf/ghostbert`."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from models_tf.checkpoints.initial import initial_tensors
from models_tf.encoder.config import GHOST_HEADS, EncoderConfig
from models_tf.encoder.network import Network


def add_ghosts(
    network: Network,
    *,
    heads: Sequence[int],
    folds: Sequence[int],
    ghost_on: str = GHOST_HEADS,
    kernel: int = 3,
    seed: int = 0,
) -> Network:
    """`heads[layer]` ghosts beside the layer's heads, `folds[layer]` beside the folds of its FFN; 0 is none."""
    before = network.config
    if before.ghost_heads or before.ghost_folds:
        raise ValueError("Ghosts are added to a network without. Received: one with ghosts.")
    config = EncoderConfig(
        **{
            **before.to_dict(),
            "ghost_heads": tuple(heads) if any(heads) else (),
            "ghost_folds": tuple(folds) if any(folds) else (),
            "ghost_on": ghost_on,
            "ghost_kernel": kernel,
        }
    )
    tensors: dict[str, np.ndarray] = {}
    for name, shape in config.shapes(network.head).items():
        if ".ghost_" in name:
            tensors |= initial_tensors({name: shape}, config.initializer_range, seed)
            continue
        value = network.tensors[name]
        if value.shape != shape:  # rows of an output's kernel that read ghosts
            value = np.concatenate((value, np.zeros((shape[0] - len(value), *shape[1:]), value.dtype)))
        tensors[name] = value
    return dataclasses.replace(network, config=config, tensors=tensors)


def ghosts_for(config: EncoderConfig, count: int | None = None) -> tuple[list[int], list[int]]:
    """Ghosts of each layer: `count`, or one per head and fold removed; one if nothing was."""
    heads, folds = [], []
    for layer in range(config.num_layers):
        gone = config.num_heads - config.heads_of(layer), config.num_heads - config.ffn_of(layer) // config.fold_size
        heads.append(max(gone[0], 1) if count is None else count)
        folds.append(max(gone[1], 1) if count is None else count)
    return heads, folds
