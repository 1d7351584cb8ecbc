"""SGNN: self-governing neural networks for on-device short text classification (Ravi and Kozareva, 2018).

The text is one vector, the sum of its token projections, and dense layers read it. No attention, no
order of words: the smallest and fastest model here. The published model projects the whole text by
locality sensitive hashing; here the tokens are projected by the op that PRADO uses.
"""

import tensorflow as tf
import tf_keras as keras

from models_tf.layers.dropout import Draws
from models_tf.layers.mean_dense import MeanDense
from models_tf.sgnn.config import SgnnConfig


class Sgnn(keras.Model):
    """int8 features `[batch, time, feature]` -> logits `[batch, label]`."""

    any_length = False  # the length is part of the exported weights: see `MeanDense`

    def __init__(self, config: SgnnConfig) -> None:
        super().__init__(name="sgnn")
        self.config = config
        first, *others = config.hidden_sizes
        self.first = MeanDense(first, name="hidden_0")
        self.hidden = [
            keras.layers.Dense(
                size, activation=None if config.activation == "none" else config.activation, name=f"hidden_{index}"
            )
            for index, size in enumerate(others, start=1)
        ]
        self.classifier = keras.layers.Dense(config.num_labels, name="classifier")
        self(tf.zeros((1, 1, config.projection.feature_size), tf.int8))  # creates the weights

    def call(self, features: tf.Tensor, draws: Draws | None = None) -> tf.Tensor:
        """With `draws`: as in training, with dropout."""
        x = tf.cast(features, tf.float32)
        if draws is not None:
            x = draws.drop_tokens(x, self.config.token_dropout)

        def dropped(values: tf.Tensor) -> tf.Tensor:
            return values if draws is None else draws.dropout(values, self.config.dropout)

        hidden = self.first(tf.reduce_mean(x, axis=1), tf.shape(x)[1])
        if self.config.activation == "relu":
            hidden = tf.nn.relu(hidden)
        for layer in self.hidden:
            hidden = layer(dropped(hidden))
        return self.classifier(dropped(hidden))

    def features_to_logits(self, features: tf.Tensor) -> tf.Tensor:
        """The inference graph, as exported."""
        return self(features)
