"""Features of a batch while training: the same words that the exported graph reads."""

import dataclasses
from typing import Any

import tensorflow as tf

from models_tf.ops.projection.layer import sequence_projection
from models_tf.prado.text_config import TextConfig


def project(texts: tf.Tensor, config: TextConfig, *, distortion: float = 0.0, seed: Any = 0) -> tf.Tensor:
    """int8 `[batch, time, feature]`, as long as the longest text, and one row of padding if all are empty."""
    projection = dataclasses.replace(config.projection, distortion=distortion, max_tokens=config.word_tokens)
    features, _ = sequence_projection(texts, projection, seed)
    missing = tf.maximum(1 - tf.shape(features)[1], 0)
    padded = tf.pad(features, [[0, 0], [0, missing], [0, 0]])
    padded.set_shape([None, None, config.projection.feature_size])
    return padded
