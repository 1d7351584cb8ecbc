"""Teachers: trained checkpoints of ours whose averaged probabilities a student learns.

They read the clean text, whatever typos the student's copy has.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import tensorflow as tf

from models_tf import checkpoint
from models_tf.errors import InputError
from models_tf.ops.projection.layer import sequence_projection


class Teachers:
    def __init__(self, folders: Sequence[Path], labels: Sequence[str], temperature: float) -> None:
        self.models = []
        self.temperature = temperature
        for folder in folders:
            loaded = checkpoint.load(folder)
            if loaded.labels != list(labels):
                raise InputError(
                    f"--teacher must know the labels of the training file, in order. Received: {folder} with "
                    f"{len(loaded.labels)} labels, {', '.join(loaded.labels[:3])}, ..."
                )
            model = checkpoint.build(loaded)
            model.trainable = False
            self.models.append(model)

    def probabilities(self, texts: tf.Tensor, multi_label: bool) -> tf.Tensor:
        """`[batch, label]`, the mean over the teachers."""
        activation = tf.sigmoid if multi_label else tf.nn.softmax
        answers = []
        for model in self.models:
            config = model.config
            projection = dataclasses.replace(config.projection, max_tokens=config.max_seq_len)
            features, _ = sequence_projection(texts, projection)
            answers.append(activation(model.features_to_logits(features) / self.temperature))
        return tf.add_n(answers) / len(answers)
