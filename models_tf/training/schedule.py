"""The learning rate over the steps of a training."""

import math

import tensorflow as tf
import tf_keras as keras


class WarmupCosine(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, then cosine to zero."""

    def __init__(self, peak: float, warmup: float, steps: int) -> None:
        self.peak, self.warmup, self.steps = peak, warmup, steps

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        part = tf.cast(step, tf.float32) / self.steps
        rising = part / max(self.warmup, 1e-9)
        falling = 0.5 * (1.0 + tf.cos(math.pi * tf.minimum((part - self.warmup) / (1.0 - self.warmup), 1.0)))
        return self.peak * tf.where(part < self.warmup, rising, falling)

    def get_config(self) -> dict[str, float]:
        return {"peak": self.peak, "warmup": self.warmup, "steps": self.steps}
