"""Turns a network that keeps all tokens into PoWER-BERT with a retention given by hand.

The weights do not change. A retention as long as the text in every layer changes nothing; smaller numbers drop the
least significant tokens, see `models_tf/encoder/retention.py`. Searching for a good retention is part of training.
"""

import dataclasses
from collections.abc import Sequence

from models_tf.encoder.config import BY_CHANCE, BY_SIGNIFICANCE, EncoderConfig
from models_tf.encoder.heads import BASE
from models_tf.encoder.network import Network


def keep_tokens(network: Network, kept: Sequence[int], *, by: str = BY_SIGNIFICANCE, seed: int = 0) -> Network:
    """`kept[layer]` tokens, the first always among them, leave that layer's attention; an empty list keeps all."""
    head = network.head
    if not head.reads_pooled and head.kind != BASE:
        raise ValueError(
            f"Tokens can be dropped where the head reads the first one: classification, regression. "
            f"Received: {head.kind}."
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
