"""Channels centered in their ranges: exact in float, and an int8 tensor wastes no steps on constant offsets.

A constant added to a channel of a stream is a moved bias: writers of the stream subtract it from their bias, readers
add its product with their kernel to theirs. Each tensor of a residual stream can have its own shift, since whatever is
added between two of them has a bias.
"""

import numpy as np

from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.draft import Draft
from models_tf.encoder.rewrites.ranges import ChannelRanges
from models_tf.encoder.rewrites.streams import streams


def center(network: Network, found: ChannelRanges) -> Network:
    """Requires: NoNorm, folded; nothing fused; `found` are ranges of this network.

    Ensures: the streams between and inside layers, values and shared bottlenecks have ranges around zero. The output of
    a base model does not move.
    """
    draft = Draft(network)
    for stream in streams(network):
        before: np.ndarray | float = 0.0
        for link in stream:
            if not link.movable:
                continue
            shift = found[link.tensor].mean(0) * (not link.fixed)
            carried = before * draft.get(f"{link.norm}.skip", 1.0)
            draft.add_bias(link.writers[-1], carried - shift)
            for reader in link.readers:
                # A key's bias does not matter (`drop_key_bias`), so keys need no correction. Attention passes the
                # value's shift through unchanged.
                if not reader.endswith(".key"):
                    draft.add_bias(reader, shift @ draft[f"{reader}.kernel"])
            before = shift
    return draft.result()
