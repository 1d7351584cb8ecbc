"""`Encoder`: the Keras model of every BERT-like encoder with its head.

It holds the weights by name and runs `forward.run` on them. Training, the reference of an export and PyTorch parity use
it; what is exported is a `Network`, the same weights after exact rewrites, run by the same function.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras as keras

from models_tf.encoder import forward
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import Head
from models_tf.encoder.network import Network


class Encoder(keras.Model):
    """int32 ids, mask and segments [batch, time] -> outputs by name (see `forward`)."""

    def __init__(self, config: EncoderConfig, head: Head, tensors: Mapping[str, np.ndarray] | None = None) -> None:
        super().__init__(name="encoder")
        self.config, self.head = config, head
        self.table: dict[str, tf.Variable] = {}
        for name, shape in config.shapes(head).items():
            initializer: Any = "ones" if name.endswith(".gamma") else "zeros"
            # Weights that are given need no random ones first, which take seconds for a large model.
            if tensors is None and not name.endswith((".gamma", ".beta", ".bias", ".gain")):
                # One for each weight: a shared one would give equal values to weights of equal shape.
                initializer = keras.initializers.TruncatedNormal(stddev=config.initializer_range)
            self.table[name] = self.add_weight(name=name, shape=shape, initializer=initializer)
        self.built = True
        if tensors is not None:
            self.assign(tensors)

    def assign(self, tensors: Mapping[str, np.ndarray]) -> None:
        """Sets every weight; names and shapes must fit the config."""
        if set(tensors) != set(self.table):
            odd = sorted(set(tensors) ^ set(self.table))
            raise ValueError(f"The weights must fit the config. Received: {odd[0]} too many or too few.")
        for name, variable in self.table.items():
            variable.assign(tensors[name])

    def tensors(self) -> dict[str, np.ndarray]:
        return {name: variable.numpy() for name, variable in self.table.items()}

    def network(self) -> Network:
        return Network(config=self.config, head=self.head, tensors=self.tensors())

    def activations(self, ids: tf.Tensor, mask: tf.Tensor, segments: tf.Tensor) -> forward.Activations:
        """Outputs, and what is inside: hidden states and attention scores."""
        return forward.run(self.config, self.head, self.table, ids=ids, mask=mask, segments=segments)

    def call(self, ids: tf.Tensor, mask: tf.Tensor, segments: tf.Tensor) -> dict[str, tf.Tensor]:
        return self.activations(ids, mask, segments).outputs

    def exact(self, ids: tf.Tensor, mask: tf.Tensor, segments: tf.Tensor) -> dict[str, tf.Tensor]:
        """The outputs in float64: what is left of the difference to `call` is float32's rounding."""
        table = {name: tf.cast(variable, tf.float64) for name, variable in self.table.items()}
        return forward.run(self.config, self.head, table, ids=ids, mask=mask, segments=segments).outputs
