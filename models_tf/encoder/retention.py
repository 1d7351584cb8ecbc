"""Which tokens a layer keeps: PoWER-BERT's word-vector elimination (Goyal et al., 2020), as the forward pass does it.

A token's significance is the attention that others pay to it: the mean over heads, summed over all queries except
padding and itself. The first token is always kept, padding ranks last, and among equals the leftmost token wins. Uses
only builtin ops of every runtime, with static shapes if the length is known.

Leaves out when tokens are dropped and how the rest is computed: `forward.py`.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from models_tf.encoder.config import BY_CHANCE, BY_PLACE, EncoderConfig

# Puts the first token above and padding below all others: significance is at most the token count. Fits in float16.
_FAR = 2.0**14


class Ranking:
    """The remaining tokens: `real` [batch, time] is 1 except for padding, `places` is where they stood in the text."""

    def __init__(self, config: EncoderConfig, real: tf.Tensor, time: Any) -> None:
        self.config, self.real, self.time = config, real, time
        self.places = tf.zeros_like(real, tf.int32) + tf.range(time)
        self.significance: tf.Tensor = None

    def choose(self, layer: int, weights: tf.Tensor) -> tf.Tensor | None:
        """Ranks tokens by the attention weights [batch, head, query, key].

        Returns the indices of those kept, [batch, kept], the first token first; None if all are.
        """
        self.significance = self._significance(weights)
        wanted = self.config.retention[layer] if self.config.retention else None
        if wanted is None or (isinstance(self.time, int) and wanted >= self.time):
            return None
        count = wanted if isinstance(self.time, int) else tf.minimum(wanted, self.time)
        return tf.math.top_k(self._scores(), count).indices

    def drop(self, kept: tf.Tensor, batch: Any) -> None:
        """From now on only `kept` remain."""
        old, self.time = self.time, kept.shape[1] if isinstance(self.time, int) else tf.shape(kept)[1]
        rows = tf.reshape(kept + old * tf.expand_dims(tf.range(batch), 1), (-1,))
        self.real = tf.reshape(tf.gather(tf.reshape(self.real, (-1,)), rows), (-1, self.time))
        self.places = tf.reshape(tf.gather(tf.reshape(self.places, (-1,)), rows), (-1, self.time))

    def factors(self, by_rank: tf.Tensor) -> tf.Tensor:
        """Each token's factor, by rank: [batch, time]."""
        order = tf.argsort(self._scores(), direction="DESCENDING", stable=True)
        return tf.gather(by_rank, tf.argsort(order, stable=True))

    def _scores(self) -> tf.Tensor:
        """What is ranked: `significance`, with the first token far above and padding far below the rest."""
        return _ranked(self.significance, self.real, self.time)

    def _significance(self, weights: tf.Tensor) -> tf.Tensor:
        if self.config.retention_by == BY_PLACE:
            return tf.cast(-self.places, self.real.dtype)
        if self.config.retention_by == BY_CHANCE:
            order = np.random.default_rng(self.config.retention_seed).permutation(self.config.max_positions)
            # Integers: a float table would be stored in eight bits, which creates ties.
            return tf.cast(tf.gather(tf.constant(order, tf.int32), self.places), self.real.dtype)
        # Heads first: the rest is then small. Gathering the diagonals per head makes LiteRT three times slower here.
        mean = tf.reduce_mean(weights, 1)  # [batch, query, key]
        # A product and a mean, not a matrix product: this stays float in an int8 file, a matrix product would not.
        voting = tf.reshape(self.real, (-1, self.time, 1))
        paid = tf.reduce_mean(mean * voting, 1) * tf.cast(self.time, mean.dtype)
        # A gather, not a product with (1 - identity): the identity would be a constant in the file.
        own = tf.gather(tf.reshape(mean, (-1, self.time * self.time)), tf.range(self.time) * (self.time + 1), axis=1)
        return paid - own * self.real


def _ranked(significance: tf.Tensor, real: tf.Tensor, time: Any) -> tf.Tensor:
    first = tf.cast(tf.equal(tf.range(time), 0), significance.dtype)
    return significance + _FAR * (first - (1.0 - real))


def margin(
    significance: Sequence[tf.Tensor], places: Sequence[tf.Tensor], mask: tf.Tensor, *, in_order: bool = False
) -> tf.Tensor:
    """How clearly tokens were chosen, [batch]: the smallest gap between the last token kept and the first one dropped.

    Over the given layers, relative to the former's significance but at least to 1, the average of a token. Infinity if
    only padding was dropped. `in_order` looks at every two neighbours in the ranking down to that point.
    """
    smallest, alive = tf.fill((tf.shape(mask)[0],), math.inf), tf.cast(mask, tf.float32)
    for values, kept in zip(significance, places, strict=True):
        scores = tf.sort(_ranked(values, alive, tf.shape(values)[1]), direction="DESCENDING")
        before, behind = scores, tf.pad(scores[:, 1:], ((0, 0), (0, 1)), constant_values=-math.inf)
        gaps = (before - behind) / tf.maximum(tf.abs(before), 1.0)
        count = tf.shape(kept)[1]
        gaps = tf.where(before < -_FAR / 2, math.inf, gaps)[
            :, 0 if in_order else count - 1 : count
        ]  # padding is not a token
        smallest = tf.minimum(smallest, tf.reduce_min(gaps, 1))
        alive = tf.gather(tf.cast(mask, tf.float32), kept, batch_dims=1)
    return smallest


def pick(values: tf.Tensor, kept: tf.Tensor, batch: Any) -> tf.Tensor:
    """Rows `kept` [batch, k] of `values` [batch, group, time, channel]: [batch, group, k, channel].

    Done as a gather from one long list of rows, which every runtime has.
    """
    groups, channels = values.shape[1], values.shape[3] or tf.shape(values)[3]
    time = values.shape[2] or tf.shape(values)[2]
    starts = tf.reshape(time * tf.range(batch * groups), (-1, groups, 1))
    rows = tf.gather(tf.reshape(values, (-1, channels)), tf.reshape(starts + tf.expand_dims(kept, 1), (-1,)))
    return tf.reshape(rows, (-1, groups, kept.shape[1] or tf.shape(kept)[1], channels))
