"""PRADO: projection attention networks for document classification (Kaliamoorthi et al., 2019).

Features of the projection op in, logits out. One graph for training and export: batch 1 or many,
padded or not. Unlike the published code the padding is masked, the batch norm has a real variance
and real moving averages, and windows are centred (SAME) instead of starting at their first token.
"""

from typing import Any

import tensorflow as tf
import tf_keras as keras

from models_tf.layers.dropout import Draws
from models_tf.layers.masked_conv import MaskedConv
from models_tf.prado.config import BRANCHES, PradoConfig


class Prado(keras.Model):
    """int8 features `[batch, time, feature]`, column 0 marking real tokens -> logits `[batch, label]`."""

    any_length = True  # of the exported graph

    def __init__(self, config: PradoConfig) -> None:
        super().__init__(name="prado")
        self.config = config

        def conv(name: str, channels: int, **options: Any) -> MaskedConv:
            return MaskedConv(
                channels, name=name, momentum=config.norm_momentum, epsilon=config.norm_epsilon, **options
            )

        def bottleneck(name: str) -> MaskedConv:
            return conv(name, config.embedding_size, center=True, l2=config.embedding_l2)

        if config.shared_bottleneck:
            self.value_bottleneck = self.attention_bottleneck = bottleneck("bottleneck")
        else:
            self.value_bottleneck = bottleneck("value_bottleneck")
            self.attention_bottleneck = bottleneck("attention_bottleneck")
        self.values, self.attentions = [], []
        for name, channels in config.branches.items():
            width, distance = BRANCHES[name]
            shape = {"width": width, "distance": distance, "l2": config.network_l2}
            # A constant added to all values moves the weighted mean by itself: the dense bias learns it.
            self.values.append(conv(f"{name}_value", channels, **shape))
            # A constant added to all attention logits changes nothing: only the offset over padding stays.
            self.attentions.append(conv(f"{name}_attention", channels, offset=config.attention_offset, **shape))
        self.classifier = keras.layers.Dense(
            config.num_labels,
            kernel_regularizer=keras.regularizers.L2(config.network_l2) if config.network_l2 else None,
            name="classifier",
        )
        self(tf.zeros((1, 1, config.projection.feature_size), tf.int8))  # creates the weights

    def call(self, features: tf.Tensor, draws: Draws | None = None) -> tf.Tensor:
        """With `draws`: as in training, with dropout."""
        training, rate = draws is not None, self.config.dropout
        x = _with_height(tf.cast(features, tf.float32))  # [batch, 1, time, feature]
        if draws is not None:
            x = draws.drop_tokens(x, self.config.token_dropout)
        mask = x[..., :1]

        def dropped(values: tf.Tensor) -> tf.Tensor:
            return values if draws is None else draws.dropout(values, rate)

        def bottleneck(layer: MaskedConv) -> tf.Tensor:
            # Zero in padding, so that windows over the end see what they see without padding.
            return tf.nn.relu(layer(x, mask, training)) * mask

        embedded = bottleneck(self.value_bottleneck)
        value_input = dropped(embedded)
        if not self.config.shared_bottleneck:
            embedded = bottleneck(self.attention_bottleneck)
        attention_input = dropped(embedded)
        values = tf.concat([layer(value_input, mask, training) for layer in self.values], -1)
        logits = tf.concat([layer(attention_input, mask, training) for layer in self.attentions], -1) * mask
        attention = tf.nn.softmax(tf.transpose(logits, (0, 3, 1, 2)))  # [batch, channel, 1, time]
        # One dot product a channel: in int8 it adds up in 32 bits, where MUL and MEAN would round every product.
        pooled = tf.matmul(attention, tf.transpose(values, (0, 3, 2, 1)))  # [batch, channel, 1, 1]
        pooled = tf.reshape(pooled, (-1, self.config.channels))
        return self.classifier(dropped(pooled))

    def features_to_logits(self, features: tf.Tensor) -> tf.Tensor:
        """The inference graph, as exported."""
        return self(features)


def _with_height(x: tf.Tensor) -> tf.Tensor:
    """[batch, time, feature] as images of height one."""
    batch, time, size = x.shape
    # Of `expand_dims` with an unknown size TFLite makes an operator that quantizers leave in float.
    return tf.expand_dims(x, 1) if batch is None or time is not None else tf.reshape(x, (batch, 1, -1, size))
