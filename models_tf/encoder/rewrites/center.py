"""Channels moved to the middle of their ranges: exact in float, and an int8 tensor spends no steps on constant offsets.

A constant added to a channel of a stream is a bias that moves: whoever writes the stream takes it off its bias, whoever
reads the stream adds what its kernel makes of it to its own. Each tensor of a residual stream may have a shift of its own,
since what is added between two of them has a bias.
"""

import numpy as np

from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.draft import Draft
from models_tf.encoder.rewrites.ranges import ChannelRanges
from models_tf.encoder.rewrites.streams import streams


def center(network: Network, found: ChannelRanges) -> Network:
    """Requires: NoNorm, folded; nothing fused; `found` are ranges of this network.

    Ensures: the streams between and inside of layers, values and shared bottlenecks have ranges around zero. The output
    of a base model stays where it is.
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
                # A key's bias does not matter (`drop_key_bias`), so neither does what it would have to take up. The
                # value's shift comes out of attention as it went in.
                if not reader.endswith(".key"):
                    draft.add_bias(reader, shift @ draft[f"{reader}.kernel"])
            before = shift
    return draft.result()
