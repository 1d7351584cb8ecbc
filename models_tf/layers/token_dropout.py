"""Token dropout: a dropped token becomes padding, its mark in column 0 included."""

import tensorflow as tf


def drop_tokens(x: tf.Tensor, rate: float) -> tf.Tensor:
    """Zeroes whole rows of `[..., time, feature]` with probability `rate`."""
    if not rate:
        return x
    kept = tf.random.uniform(tf.shape(x[..., :1])) >= rate
    return x * tf.cast(kept, x.dtype)
