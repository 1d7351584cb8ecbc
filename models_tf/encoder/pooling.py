"""From the vectors of all tokens to one for the text: pooling without padding, and scaling to length 1.

Written with the operators of a layer norm, so that quantizers keep it in float as they keep those, and integer kernels
have bounded values everywhere.
"""

import tensorflow as tf

from models_tf.encoder.heads import MEAN

# As PyTorch's `normalize`: a vector of zeros stays one. Squared.
_SMALLEST_SQUARE = 1e-24


def pool(kind: str, rows: tf.Tensor, real: tf.Tensor, *, scaled: bool = True) -> tf.Tensor:
    """[batch, channel] of `rows` [batch, time, channel] with `real` [batch, time, 1], 1 for tokens and 0 for padding.

    The first token must be real. A mean that is not `scaled` has the right direction, but not the right length.
    """
    if kind != MEAN:
        # The first token in place of padding changes no maximum; a large negative number would leave int8 no steps for
        # the rest. As a minimum of negative values, since ai-edge-quantizer 0.10 has that in int8 and no maximum.
        return tf.reduce_min(rows * (real * -1.0) + rows[:, :1] * (real - 1.0), 1) * -1.0
    total = tf.reduce_mean(rows * real, 1)
    if not scaled:
        return total
    share = tf.math.rsqrt(tf.reduce_mean(real, 1))  # of tokens among all, [batch, 1]
    return total * (share * share)


def unit_length(rows: tf.Tensor) -> tf.Tensor:
    """Each row of [batch, channel] divided by its length."""
    squares = tf.reduce_mean(tf.math.squared_difference(rows, 0.0), -1, keepdims=True)
    size = rows.shape[-1]
    return rows * (tf.math.rsqrt(squares + _SMALLEST_SQUARE / size) * size**-0.5)
