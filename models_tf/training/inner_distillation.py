"""Learns a teacher's hidden states and attention maps besides its logits, in the same steps as the task.

Hidden states: the mean squared difference over tokens except padding, summed over the embedding and all layers, as in
DynaBERT. Attention: the cross entropy of `transfer.attention_loss`, summed over layers. A student with fewer layers has
them spread over the teacher's; one of another width gets a linear map to the teacher's, in training only. Leaves out
the logits (`tasks/losses.py`) and MobileBERT's transfer before the task (`transfer.py`).
"""

import math

import numpy as np
import tensorflow as tf

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.forward import Activations
from models_tf.training.transfer import attention_loss, masked_mean, teacher_layers


class InnerDistillation:
    def __init__(
        self,
        student: EncoderConfig,
        teacher: EncoderConfig,
        *,
        hidden_weight: float,
        attention_weight: float,
        seed: int,
    ) -> None:
        self.hidden_weight, self.attention_weight = hidden_weight, attention_weight
        self.sources = teacher_layers(student.num_layers, teacher.num_layers)
        # The student's last state is left out if its head reads only the first token; if the teacher has fewer layers,
        # the student's previous state learns from the teacher's last.
        self.reads_last = teacher.num_layers in self.sources[:-1]
        self.maps: dict[str, tf.Variable] = {}
        ours, theirs = student.hidden_size, teacher.hidden_size
        if hidden_weight and ours != theirs:
            generator = np.random.default_rng((seed, ours, theirs))
            for state in range(student.num_layers + 1):
                value = generator.standard_normal((ours, theirs)).astype(np.float32) / np.float32(math.sqrt(ours))
                self.maps[f"distillation.{state}.kernel"] = tf.Variable(value)

    def loss(self, student: Activations, teacher: Activations, mask: tf.Tensor) -> tf.Tensor:
        """Leaves out the last state if the student did not compute it (its head reads only the first token).

        The attention of the last layer must be there.
        """
        terms = [tf.zeros(())]
        if self.hidden_weight:
            sources = (0, *self.sources)  # 0 is the embedding
            for state, found in enumerate(student.hidden_states):
                kernel = self.maps.get(f"distillation.{state}.kernel")
                ours = found if kernel is None else tf.einsum("bth,hw->btw", found, kernel)
                theirs = tf.stop_gradient(teacher.hidden_states[sources[state]])
                difference = tf.reduce_mean(tf.math.squared_difference(ours, theirs), -1)
                terms.append(self.hidden_weight * masked_mean(difference, mask))
        if self.attention_weight:
            for layer, source in enumerate(self.sources):
                scores = student.scores[layer] + student.mask_bias
                wanted = tf.stop_gradient(teacher.scores[source - 1] + teacher.mask_bias)
                terms.append(self.attention_weight * attention_loss(scores, wanted, mask))
        return tf.add_n(terms)
