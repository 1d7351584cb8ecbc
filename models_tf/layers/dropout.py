"""Dropout and swapped tokens whose draws follow from a seed alone: a resumed training draws what it would have drawn.

TensorFlow's own dropout reads a generator whose state is in no checkpoint.
"""

import tensorflow as tf

_ALGORITHM = "philox"


class Draws:
    """The random numbers of one training step. `seed`, int32 [2], must be of this step only.

    Each call draws anew: a graph that makes the same calls in the same order gets the same numbers.
    """

    def __init__(self, seed: tf.Tensor) -> None:
        self._seed, self._calls = seed, 0

    def dropout(self, x: tf.Tensor, rate: float) -> tf.Tensor:
        """Zeroes entries with probability `rate`, and scales the others up."""
        return tf.nn.experimental.stateless_dropout(x, rate, self._next(), rng_alg=_ALGORITHM) if rate else x

    def drop_tokens(self, x: tf.Tensor, rate: float) -> tf.Tensor:
        """Zeroes whole rows of `[..., time, feature]` with probability `rate`: a dropped token becomes padding, its
        mark in column 0 included.
        """
        if not rate:
            return x
        kept = tf.random.stateless_uniform(tf.shape(x[..., :1]), self._next(), alg=_ALGORITHM) >= rate
        return x * tf.cast(kept, x.dtype)

    def swap_tokens(self, x: tf.Tensor, rate: float) -> tf.Tensor:
        """Exchanges neighbouring rows of `[batch, time, feature]`: each token changes places with probability `rate`,
        except at the ends. Padding, marked by 0 in column 0, stays where it is.
        """
        if not rate:
            return x
        batch, time = tf.unstack(tf.shape(x)[:2])
        # Places are paired from the first or from the second on, as each text draws it.
        shift = tf.random.stateless_uniform((batch, 1), self._next(), 0, 2, tf.int32, alg=_ALGORITHM)
        place = tf.range(time)[None] + shift
        drawn = tf.random.stateless_uniform((batch, time // 2 + 1), self._next(), alg=_ALGORITHM) < rate
        partner = tf.range(time)[None] + 1 - 2 * (place % 2)
        inside = tf.clip_by_value(partner, 0, time - 1)
        token = tf.not_equal(x[..., 0], 0)
        swapped = (
            tf.gather(drawn, place // 2, batch_dims=1)
            & (partner == inside)
            & token
            & tf.gather(token, inside, batch_dims=1)
        )
        return tf.gather(x, tf.where(swapped, inside, tf.range(time)[None]), batch_dims=1)

    def _next(self) -> tf.Tensor:
        self._calls += 1
        return self._seed + tf.constant((0, self._calls), tf.int32)
