"""The learning rate over the steps of a training."""

import math
from collections.abc import Sequence

import tensorflow as tf
import tf_keras as keras


class WarmupCosine(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, then cosine to zero; each step has the rate of its middle, so that none has a rate of zero."""

    def __init__(self, peak: float, warmup: float, steps: int) -> None:
        self.peak, self.warmup, self.steps = peak, warmup, steps

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        part = (tf.cast(step, tf.float32) + 0.5) / self.steps
        rising = part / max(self.warmup, 1e-9)
        falling = 0.5 * (1.0 + tf.cos(math.pi * tf.minimum((part - self.warmup) / (1.0 - self.warmup), 1.0)))
        return self.peak * tf.where(part < self.warmup, rising, falling)

    def get_config(self) -> dict[str, float]:
        return {"peak": self.peak, "warmup": self.warmup, "steps": self.steps}


class InPhases(keras.optimizers.schedules.LearningRateSchedule):
    """One `WarmupCosine` after the other, each over its number of `steps`."""

    def __init__(self, peak: float, warmup: float, steps: Sequence[int]) -> None:
        self.phases = [WarmupCosine(peak, warmup, count) for count in steps if count]

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        start = 0
        rate = self.phases[0](step)
        for before, phase in zip(self.phases, self.phases[1:], strict=False):
            start += before.steps
            rate = tf.where(step >= start, phase(step - start), rate)
        return rate

    def get_config(self) -> dict[str, list[dict[str, float]]]:
        return {"phases": [phase.get_config() for phase in self.phases]}
