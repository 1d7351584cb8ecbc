"""Dropout whose draws follow from a seed alone: a training that is resumed draws what it would have drawn.

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

    def _next(self) -> tf.Tensor:
        self._calls += 1
        return self._seed + tf.constant((0, self._calls), tf.int32)
