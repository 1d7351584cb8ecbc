"""The value that the graph adds to the attention scores of padding: as large as it must be, and no larger.

PyTorch adds the lowest float. In static int8 the scores and the mask share one scale, so that such a value leaves no step
for the scores. A bounded one must still give padding a weight of nothing.
"""

import math
from collections.abc import Mapping

import numpy as np

from models_tf.encoder.network import Network

# Weight of a padded position relative to the row's largest, at most exp(-MARGIN) = 2e-9: over 512 positions 1e-6, which is
# float32's own rounding of the softmax.
MARGIN = 20.0


def choose_mask(network: Network, rows: Mapping[str, np.ndarray], *, batch: int) -> float:
    """-(2 * peak + MARGIN), a whole number; `peak` is the largest score, of either sign, on the rows.

    A score of padding is at most the peak and the largest of tokens at least -peak, so the mask must outweigh both. Rows
    with larger scores than these eat into the margin, not into the answer: scores are bounded by the weights.
    """
    return -float(math.ceil(2 * attention_peak(network, rows, batch=batch) + MARGIN))


def attention_peak(network: Network, rows: Mapping[str, np.ndarray], *, batch: int) -> float:
    """The largest absolute attention score of all layers, before the mask is added."""
    import tensorflow as tf

    from models_tf.encoder import forward

    table = {name: tf.constant(value) for name, value in network.tensors.items()}

    @tf.function(autograph=False, reduce_retracing=True)
    def peak(ids: tf.Tensor, mask: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
        found = forward.run(
            network.config, network.head, table, form=network.form, ids=ids, mask=mask, segments=segments
        )
        return tf.reduce_max([tf.reduce_max(tf.abs(scores)) for scores in found.scores])

    count = len(next(iter(rows.values())))
    return max(
        float(peak(**{name: tf.constant(values[start : start + batch]) for name, values in rows.items()}))
        for start in range(0, count, batch)
    )
