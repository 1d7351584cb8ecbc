"""Dropout and swapped tokens whose draws follow from a seed alone: a resumed training draws what it would have drawn.

TensorFlow's own dropout reads a generator whose state is in no checkpoint.
"""

from typing import Any

import tensorflow as tf

_ALGORITHM = "philox"


class Draws:
    """The random numbers of one training step. `seed`, int32 [2], must be of this step only.

    Each call draws anew: a graph that makes the same calls in the same order gets the same numbers. With `part`, where
    the rows at hand begin, how many they are, and how many there are in all, they get what they would get among all.
    """

    def __init__(self, seed: tf.Tensor, part: tuple[tf.Tensor, tf.Tensor, tf.Tensor] | None = None) -> None:
        self._seed, self._calls, self._part = seed, 0, part

    def dropout(self, x: tf.Tensor, rate: float) -> tf.Tensor:
        """Zeroes entries with probability `rate`, and scales the others up."""
        if not rate:
            return x
        if self._part is None:
            return tf.nn.experimental.stateless_dropout(x, rate, self._next(), rng_alg=_ALGORITHM)
        kept = self._uniform(tf.shape(x)) >= rate
        return tf.where(kept, x * (1.0 / (1.0 - rate)), 0.0)

    def drop_tokens(self, x: tf.Tensor, rate: float) -> tf.Tensor:
        """Zeroes whole rows of `[..., time, feature]` with probability `rate`: a dropped token becomes padding, its
        mark in column 0 included.
        """
        if not rate:
            return x
        kept = self._uniform(tf.shape(x[..., :1])) >= rate
        return x * tf.cast(kept, x.dtype)

    def swap_tokens(self, x: tf.Tensor, rate: float) -> tf.Tensor:
        """Exchanges neighbouring rows of `[batch, time, feature]`: each token changes places with probability `rate`,
        except at the ends. Padding, marked by 0 in column 0, stays where it is.
        """
        if not rate:
            return x
        batch, time = tf.unstack(tf.shape(x)[:2])
        # Places are paired from the first or from the second on, as each text draws it.
        shift = self._uniform((batch, 1), high=2, kind=tf.int32)
        place = tf.range(time)[None] + shift
        drawn = self._uniform((batch, time // 2 + 1)) < rate
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

    def _uniform(self, shape: Any, *, high: int | None = None, kind: tf.DType = tf.float32) -> tf.Tensor:
        """Numbers from 0 to before `high`, by default 1."""
        how = {"minval": 0, "maxval": high, "dtype": kind, "alg": _ALGORITHM}
        if self._part is None:
            return tf.random.stateless_uniform(shape, self._next(), **how)
        start, own, rows = self._part
        each = shape[0] // tf.maximum(own, 1)  # of the first axis, which may be rows times tokens
        whole = tf.concat([[rows * each], shape[1:]], 0)
        return tf.random.stateless_uniform(whole, self._next(), **how)[start * each : start * each + shape[0]]

    def _next(self) -> tf.Tensor:
        self._calls += 1
        return self._seed + tf.constant((0, self._calls), tf.int32)
