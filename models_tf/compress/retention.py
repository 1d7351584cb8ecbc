"""Tokens that go on from each layer: a network that keeps all of them becomes PoWER-BERT with a retention given by hand.

The weights stay as they are. As many tokens as a text can have in every layer changes nothing; fewer drop the least
significant ones, see `models_tf/encoder/retention.py`. Leaves out the search for a good retention, which is training.
"""

import dataclasses
from collections.abc import Sequence

from models_tf.encoder.config import BY_CHANCE, BY_SIGNIFICANCE, EncoderConfig
from models_tf.encoder.heads import BASE
from models_tf.encoder.network import Network


def keep_tokens(network: Network, kept: Sequence[int], *, by: str = BY_SIGNIFICANCE, seed: int = 0) -> Network:
    """`kept[layer]` tokens go on from the layer's attention, the first among them; an empty list keeps all in every layer."""
    head = network.head
    if not head.reads_pooled and head.kind != BASE:
        raise ValueError(
            f"Tokens can be dropped where the head reads the first one: classification, regression. Received: {head.kind}."
        )
    config = EncoderConfig(
        **{
            **network.config.to_dict(),
            "retention": tuple(kept),
            "retention_by": by if kept else BY_SIGNIFICANCE,
            "retention_seed": seed if kept and by == BY_CHANCE else 0,
        }
    )
    return dataclasses.replace(network, config=config)
