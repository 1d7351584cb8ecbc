"""Exact rewrites of the embedding: trigrams as a convolution, a shorter position table, a constant segment, padding
that is the end of a text.
"""

import dataclasses

import numpy as np

from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.draft import Draft

_CONVOLUTION = "embedding_convolution.kernel"


def trigram_convolution(network: Network) -> Network:
    """Requires: nothing; without trigrams the network comes back as it is.

    Ensures: `embedding_convolution.kernel` [1, 3, embedding, hidden] in place of the projection, whose bias is in the
    positions. A trigram holds the next, the current and the previous word, a kernel goes from left to right.
    """
    if not network.config.trigram or _CONVOLUTION in network.tensors:
        return network
    draft = Draft(network)
    kernel, bias = draft.pop("embedding_projection.kernel"), draft.pop("embedding_projection.bias")
    if kernel is None:
        raise ValueError("Trigrams must have a projection to become a convolution. Received: none.")
    later, current, earlier = np.split(kernel, 3)
    draft[_CONVOLUTION] = np.stack((earlier, current, later))[None]
    if bias is not None:
        draft["position_embedding"] = draft["position_embedding"] + bias
    return draft.result()


def cut_positions(network: Network, max_seq_len: int) -> Network:
    """Requires: a position for every token. Ensures: exactly `max_seq_len` positions, if there is a table of them."""
    table = network.tensors.get("position_embedding")
    most = network.config.max_positions if table is None else len(table)
    if not 1 <= max_seq_len <= most:
        raise ValueError(f"The sequence length must be 1 to {most}, the positions. Received: {max_seq_len}.")
    if table is None or most == max_seq_len:
        return network
    return network.change({"position_embedding": table[:max_seq_len]})


def end_at_padding(network: Network) -> Network:
    """Requires: nothing. Ensures: trigrams see padding as the end of the text.

    A trigram of the last token reads the padding behind it, and at the end of the input nothing, which is zero. With a
    row of zeros for padding both are the same, so that a text gets one answer, padded or not: the one that the network
    gives without padding. The row is a new one, since a text may hold the padding token itself.
    """
    config, table = network.config, network.tensors["word_embedding"]
    if not config.trigram or not table[config.pad_id].any():
        return network
    row = np.zeros_like(table[:1])
    changed = network.change({"word_embedding": np.concatenate((table, row))})
    return dataclasses.replace(
        changed, config=dataclasses.replace(config, vocab_size=config.vocab_size + 1, pad_id=config.vocab_size)
    )


def bake_segment(network: Network, segment: int = 0) -> Network:
    """Requires: all tokens are of this segment, always. Ensures: no segment table and no input for it."""
    if "segment_embedding" not in network.tensors:
        return network
    draft = Draft(network)
    table = draft.pop("segment_embedding")
    if table is None or not 0 <= segment < len(table):
        raise ValueError(f"The segment must be a row of the segment table. Received: {segment}.")
    every = "position_embedding" if "position_embedding" in draft else "word_embedding"
    draft[every] = draft[every] + table[segment]
    return draft.result()
