"""The value that the graph adds to the attention scores of padding: no larger than needed.

PyTorch adds the lowest float. In static int8 the scores and the mask share one scale, so such a value would leave no
steps for the scores. A bounded one must still give padding practically no weight.
"""

import math
from collections.abc import Mapping

import numpy as np

from models_tf import memory
from models_tf.encoder.network import Network

# The weight of a padded position is at most exp(-MARGIN) = 2e-9 of the row's largest; over 512 positions that is 1e-6,
# float32's own rounding of the softmax.
MARGIN = 20.0
# Far enough below float32's largest number that a sum of mask and score is still one.
LARGEST_PEAK = 1e37


class ScoresError(ValueError):
    """The attention scores are NaN, infinite or too large for any mask; `peak` is the largest."""

    def __init__(self, peak: float) -> None:
        super().__init__(f"Attention scores must be below {LARGEST_PEAK:g}. Received: {peak:g}.")
        self.peak = peak


def choose_mask(network: Network, rows: Mapping[str, np.ndarray], *, batch: int) -> float:
    """-(2 * peak + MARGIN), a whole number; `peak` is the largest score, of either sign, on the rows.

    A padding score is at most the peak, the largest token score at least -peak, so the mask must outweigh both. Rows
    with larger scores use up margin and do not change the answer: the weights bound the scores.

    Raises:
        ScoresError: no mask outweighs the scores.
    """
    peak = attention_peak(network, rows, batch=batch)
    memory.give_back()  # the weights that gave the peak
    if not peak < LARGEST_PEAK:  # nor is NaN
        raise ScoresError(peak)
    return -float(math.ceil(2 * peak + MARGIN))


def attention_peak(network: Network, rows: Mapping[str, np.ndarray], *, batch: int) -> float:
    """The largest absolute attention score of all layers, before the mask is added."""
    import tensorflow as tf

    from models_tf.encoder import forward

    table = {name: tf.constant(value) for name, value in network.tensors.items()}

    @tf.function(autograph=False, reduce_retracing=True)
    def peak(ids: tf.Tensor, mask: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
        options = forward.Options(form=network.form)
        found = forward.run(network.config, network.head, table, ids=ids, mask=mask, segments=segments, options=options)
        return tf.reduce_max([tf.reduce_max(tf.abs(scores)) for scores in found.scores])

    count = len(next(iter(rows.values())))
    peaks = [
        float(peak(**{name: tf.constant(values[start : start + batch]) for name, values in rows.items()}))
        for start in range(0, count, batch)
    ]
    return float(np.max(peaks))  # the comparison of `max` would lose a NaN
