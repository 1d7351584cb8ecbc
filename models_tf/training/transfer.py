"""Knowledge transfer: a student's hidden states and attention are pulled to a teacher's, layer by layer.

The terms and their weights are those of MobileBERT's code. Three things are ours:

- Padding is left out of every mean: of the queries of the attention, and of the tokens of the hidden states.
- Mean and variance are compared layer with layer (the code compares with the list of all layers, which is a slip).
- A teacher of another shape: student layer l of L learns from layer ceil(l * T / L) of its T, through a linear map to
  the teacher's width that exists in training only; with another number of heads, attention is averaged over them.
"""

import math
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.forward import Activations
from models_tf.training.transfer_settings import PROGRESSIVE, TransferSettings

NORM_EPSILON = 1e-12
_LEAST_PROBABILITY = 1e-12


def teacher_layers(student: int, teacher: int) -> list[int]:
    """The number, from 1, of the teacher's layer that each of the student's learns from."""
    return [math.ceil((layer + 1) * teacher / student) for layer in range(student)]


def feature_loss(student: tf.Tensor, teacher: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Mean squared difference of hidden states [batch, time, channel], normalized without gamma and beta."""
    return masked_mean(tf.reduce_mean(tf.math.squared_difference(_normalized(student), _normalized(teacher)), -1), mask)


def mean_loss(student: tf.Tensor, teacher: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Squared difference of the means over a token's channels."""
    return masked_mean(tf.math.squared_difference(tf.reduce_mean(student, -1), tf.reduce_mean(teacher, -1)), mask)


def variance_loss(student: tf.Tensor, teacher: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Absolute difference of the variances over a token's channels."""
    return masked_mean(tf.abs(tf.math.reduce_variance(student, -1) - tf.math.reduce_variance(teacher, -1)), mask)


def attention_loss(student: tf.Tensor, teacher: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Cross entropy of the student's distribution over keys to the teacher's; scores [batch, head, query, key] with
    the mask added. The mean over rows, heads and the queries that are not padding.
    """
    if student.shape[1] == teacher.shape[1]:
        losses = tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(teacher), student)
        return masked_mean(tf.reduce_mean(losses, 1), mask)
    ours, theirs = (tf.reduce_mean(tf.nn.softmax(scores), 1) for scores in (student, teacher))
    return masked_mean(-tf.reduce_sum(theirs * tf.math.log(tf.maximum(ours, _LEAST_PROBABILITY)), -1), mask)


def _normalized(x: tf.Tensor) -> tf.Tensor:
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + NORM_EPSILON)


def masked_mean(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Over the places [batch, time] that are not padding."""
    counted = tf.cast(mask, tf.float32)
    return tf.reduce_sum(values * counted) / tf.maximum(tf.reduce_sum(counted), 1.0)


class Transfer:
    """The loss of a batch at a step, and the factors of the learning rates."""

    def __init__(
        self,
        student: EncoderConfig,
        teacher: EncoderConfig,
        *,
        kind: str,
        settings: TransferSettings,
        steps: int,
        seed: int,
    ) -> None:
        self.kind, self.settings, self.layers = kind, settings, student.num_layers
        self.steps_per_layer = max(1, math.ceil(steps / student.num_layers))
        self.sources = teacher_layers(student.num_layers, teacher.num_layers)
        self.maps: dict[str, tf.Variable] = {}
        if student.hidden_size != teacher.hidden_size:
            generator = np.random.default_rng((seed, student.hidden_size, teacher.hidden_size))
            for layer in range(self.layers):
                shape, scale = (student.hidden_size, teacher.hidden_size), 1.0 / math.sqrt(student.hidden_size)
                value = generator.standard_normal(shape).astype(np.float32) * np.float32(scale)
                self.maps[f"layers.{layer}.transfer.kernel"] = tf.Variable(value)

    def phase(self, step: tf.Tensor) -> tf.Tensor:
        """The layer whose turn it is."""
        return tf.minimum(tf.cast(step, tf.int32) // self.steps_per_layer, self.layers - 1)

    def gates(self, step: tf.Tensor) -> tf.Tensor:
        """1 for the layers that learn at a step, else 0."""
        if self.kind != PROGRESSIVE:
            return tf.ones(self.layers)
        return tf.one_hot(self.phase(step), self.layers)

    def rates(self, step: tf.Tensor) -> tf.Tensor:
        """Factors of the layers' learning rates."""
        if self.kind != PROGRESSIVE:
            return tf.fill([self.layers], self.settings.own)
        settings, layers, phase = self.settings, tf.range(self.layers), self.phase(step)
        late = tf.where(layers < phase, settings.after, settings.own)
        return tf.where(layers > phase, settings.before, late)

    def paces(self, names: Sequence[str], step: tf.Tensor) -> dict[str, tuple[tf.Tensor, tf.Tensor]]:
        """By the name of a weight: the factor of its learning rate, and the steps since its layer's turn began.

        Before that its gradient and its moments are zero. What is below the layers goes with the first one.
        """
        rates, found = self.rates(step), {}
        for name in names:
            layer = int(name.split(".")[1]) if name.startswith("layers.") else 0
            begin = layer * self.steps_per_layer if self.kind == PROGRESSIVE else 0
            found[name] = rates[layer], tf.maximum(step - begin, 0)
        return found

    def loss(self, student: Activations, teacher: Activations, mask: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        """Each term summed over the layers that learn, divided by the number of layers."""
        settings, gates, total = self.settings, self.gates(step), []
        for layer, source in enumerate(self.sources):
            ours, theirs = student.hidden_states[layer + 1], tf.stop_gradient(teacher.hidden_states[source])
            if self.maps:
                ours = tf.einsum("bth,hw->btw", ours, self.maps[f"layers.{layer}.transfer.kernel"])
            scores = student.scores[layer] + student.mask_bias
            wanted = tf.stop_gradient(teacher.scores[source - 1] + teacher.mask_bias)
            loss = settings.feature * feature_loss(ours, theirs, mask)
            loss += settings.attention * attention_loss(scores, wanted, mask)
            loss += settings.mean * mean_loss(ours, theirs, mask)
            loss += settings.variance * variance_loss(ours, theirs, mask)
            total.append(gates[layer] * loss)
        return tf.add_n(total) / self.layers
