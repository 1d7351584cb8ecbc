"""`apply`: the rewrites of an export, in the order in which they can be made, and their names for the report."""

from collections.abc import Mapping

import numpy as np

from models_tf.encoder.config import NO_NORM
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.attention import drop_key_bias, move_value_bias, scale_query
from models_tf.encoder.rewrites.embedding import (
    bake_segment,
    cut_positions,
    end_at_padding,
    trigram_convolution,
)
from models_tf.encoder.rewrites.equalize import equalize
from models_tf.encoder.rewrites.fold_norms import fold_norms
from models_tf.encoder.rewrites.ghosts import fold_ghosts
from models_tf.encoder.rewrites.layers import drop_unread, first_token_only, fuse_input
from models_tf.encoder.rewrites.relative import fold_distances

FOLDS = ("full", "safe", "off")
FULL, SAFE, OFF = FOLDS


def apply(
    network: Network,
    *,
    fold: str,
    max_seq_len: int,
    one_segment: bool,
    any_length: bool = False,
    rows: Mapping[str, np.ndarray] | None = None,
) -> tuple[Network, tuple[str, ...]]:
    """The rewritten network and the names of what was applied; a norm that full mode could not fold is named too.

    `one_segment`: all tokens of the task are of segment 0. `any_length`: texts come with and without padding, and the
    answer without is the right one. `rows` (int32 ids, mask, segments, [row, time]) ask for the
    ranges of all channels to be made alike. "off" only cuts the positions, which a graph of fixed length needs.
    """
    if fold not in FOLDS:
        raise ValueError(f"`fold` must be one of {', '.join(FOLDS)}. Received: {fold!r}.")
    names: list[str] = []

    def step(name: str, changed: Network) -> None:
        nonlocal network
        if changed is not network:
            network = changed
            names.append(name)

    step("cut_positions", cut_positions(network, max_seq_len))
    if any_length:
        step("end_at_padding", end_at_padding(network))
    if fold == OFF:
        return network, tuple(names)
    if one_segment or not network.takes_segments:
        step("bake_segment", bake_segment(network))
    step("drop_unread", drop_unread(network))
    step("fold_distances", fold_distances(network, max_seq_len))
    step("fold_ghosts", fold_ghosts(network))
    step("first_token_only", first_token_only(network))
    folded, skips = fold_norms(network, keep_skips=fold == SAFE)
    step(f"fold_norms ({fold})", folded)
    if fold == FULL:
        names += [f"fold_norms fell back: {norm}" for norm in skips]
    step("scale_query", scale_query(network))
    step("drop_key_bias", drop_key_bias(network))
    step("move_value_bias", move_value_bias(network))
    step("trigram_convolution", trigram_convolution(network))
    if rows is not None and network.config.norm == NO_NORM:
        step("equalize", equalize(network, rows))
    step("fuse_input", fuse_input(network))
    return network, tuple(names)
