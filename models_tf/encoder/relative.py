"""What the distance of two tokens adds to their attention score, as in MPNet and T5.

Small distances have a bucket each, larger ones share buckets that grow by powers, and from 128 on all are one. The
table has a row for each bucket and a column for each head. Distances are looked up, not sliced, so that the length may
be unknown while a graph is traced; see `forward.py`.
"""

import numpy as np
import tensorflow as tf

from models_tf.encoder.config_parts.relative import BUCKETS

_SIDE = BUCKETS // 2  # for one direction
_EXACT = _SIDE // 2  # distances below have a bucket of their own


def buckets_of(distances: np.ndarray) -> np.ndarray:
    """The bucket of each distance: the place of the key less that of the query."""
    apart = np.abs(distances)
    # Eight buckets from 8 to 128, so two for each power of two.
    shared = _EXACT + np.floor(2 * np.log2(np.maximum(apart, 1) / _EXACT)).astype(np.int64)
    return np.where(distances > 0, _SIDE, 0) + np.where(apart < _EXACT, apart, np.minimum(shared, _SIDE - 1))


def score_bias(table: tf.Tensor, places: tf.Tensor, longest: int) -> tf.Tensor:
    """[head, query, key] of a table [bucket, head]; `places` are int32 [token], below `longest`."""
    every = buckets_of(np.arange(1 - longest, longest))
    by_distance = tf.transpose(tf.gather(table, every.astype(np.int32)))  # [head, distance]
    apart = tf.reshape(places, (1, -1)) - tf.reshape(places, (-1, 1))
    return tf.gather(by_distance, apart + (longest - 1), axis=1)
