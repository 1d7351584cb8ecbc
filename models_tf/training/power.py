"""PoWER-BERT's search (Goyal et al., 2020): learns how many tokens each layer keeps, together with the weights.

The search drops no token. Instead the token of rank k in a layer is multiplied by the layer's parameter r[k], which
begins at 1 and is clipped to [0, 1] after every step. The loss has a penalty of lambda * layer * sum(r), with layers
counted from 1. A layer then keeps the sum of its parameters, rounded down, at least 1 and at most the layer before.

With a given share to keep there is no penalty. After every step the parameters of layer j are multiplied by q^j, with q
chosen so that the sum of all follows a line that falls to the share. Without a task, each layer keeps the share q of
what reaches it; the task moves the parameters against that in proportion to its gradients, with one scale for all.
Plain Adam scales each parameter separately and would move all of them alike, so what is learned would be lost.

Leaves out the ranking (`models_tf/encoder/retention.py`) and when the phases begin (`token_plan.py`).
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from models_tf.training.adamw import BETA_1, BETA_2, AdamW
from models_tf.training.power_settings import PowerSettings

PARAMETERS = "soft.retention"
# q is searched between exp(-8) and exp(8) by bisection; the error left is about one float32 step.
_FARTHEST, _HALVINGS = 8.0, 27
_LEAST_SCALE = 1e-12  # for a step without any gradient yet


def found_lengths(parameters: np.ndarray) -> tuple[int, ...]:
    """The tokens each layer keeps, given its row of `parameters`."""
    found: list[int] = []
    for row in np.asarray(parameters, np.float64):
        length = max(1, int(np.floor(row.sum())))
        found.append(min(length, found[-1]) if found else length)
    return tuple(found)


def pressed(parameters: tf.Tensor, mass: tf.Tensor) -> tf.Tensor:
    """Row j (from 1) of `parameters` times q^j, at most 1; q is chosen so that the sum is `mass`, if it can be."""
    layers = tf.range(1, parameters.shape[0] + 1, dtype=parameters.dtype)[:, None]

    def at(power: tf.Tensor) -> tf.Tensor:
        return tf.minimum(parameters * tf.exp(-power * layers), 1.0)

    low, high = tf.constant(-_FARTHEST), tf.constant(_FARTHEST)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        above = tf.reduce_sum(at(middle)) > mass
        low, high = tf.where(above, middle, low), tf.where(above, high, middle)
    return at(0.5 * (low + high))


class RetentionSearch:
    """The parameters of all layers: one row per layer, one column per rank.

    They are learned for `steps` steps, beginning at the optimizer's step `start`.
    """

    def __init__(self, layers: int, ranks: int, settings: PowerSettings, *, start: int, steps: int) -> None:
        self.settings, self.start, self.steps = settings, start, steps
        self.parameters = tf.Variable(tf.ones((layers, ranks)), trainable=True)

    def factors(self) -> list[tf.Tensor]:
        """For each layer, a factor for each rank."""
        return tf.unstack(tf.convert_to_tensor(self.parameters))

    def penalty(self) -> tf.Tensor:
        if self.settings.keep_share is not None:
            return tf.constant(0.0)
        layers = tf.range(1, self.parameters.shape[0] + 1, dtype=tf.float32)
        return self.settings.penalty * tf.reduce_sum(layers * tf.reduce_sum(self.parameters, 1))

    def pace(self, learning_rate: float, step: tf.Tensor) -> tuple[float, tf.Tensor]:
        """For `AdamW`: the factor of the learning rate, and the parameters' age."""
        return self.settings.rate_of(self.steps) / learning_rate, step - self.start

    def move(
        self, gradient: tf.Tensor, rate: tf.Tensor, age: tf.Tensor, moments: tuple[tf.Variable, tf.Variable]
    ) -> None:
        """A step with a share to keep: Adam's, but with the mean square of all gradients instead of each one's."""
        mean, square = moments
        mean.assign(BETA_1 * mean + (1.0 - BETA_1) * gradient)
        square.assign(BETA_2 * square + (1.0 - BETA_2) * tf.reduce_mean(tf.square(gradient)))
        count = tf.cast(age, tf.float32) + 1.0
        scale = tf.sqrt(square / (1.0 - tf.pow(BETA_2, count))) + _LEAST_SCALE
        self.parameters.assign_sub(rate * mean / (1.0 - tf.pow(BETA_1, count)) / scale)

    def after_step(self, step: tf.Tensor) -> None:
        """`step`: the optimizer's, after the update."""
        values = tf.clip_by_value(self.parameters, 0.0, 1.0)
        share = self.settings.keep_share
        if share is not None:
            part = tf.cast(step - self.start, tf.float32) / (self.settings.descent * self.steps)
            now = 1.0 - (1.0 - share) * tf.minimum(part, 1.0)
            values = pressed(values, now * tf.cast(tf.size(values), tf.float32))
        self.parameters.assign(values)

    def lengths(self) -> tuple[int, ...]:
        with tf.init_scope():  # the present values, in a trace too
            return found_lengths(self.parameters.numpy())

    def masses(self) -> list[float]:
        return [round(float(mass), 4) for mass in self.parameters.numpy().astype(np.float64).sum(1)]


class SearchOptimizer:
    """Learns weights and parameters with `adam`; after each step the parameters are brought back into their range."""

    def __init__(self, adam: AdamW, search: RetentionSearch) -> None:
        self.adam, self.search, self.iterations = adam, search, adam.iterations

    @property
    def learning_rate(self) -> tf.Variable:
        return self.adam.learning_rate

    @property
    def variables(self) -> list[tf.Variable]:
        return self.adam.variables

    def apply_gradients(self, pairs: Iterable[tuple[Any, tf.Variable]], **how: Any) -> None:
        search, adam, pairs = self.search, self.adam, list(pairs)
        own = []
        if search.settings.keep_share is not None:
            own = [found for found, variable in pairs if variable is search.parameters and found is not None]
            pairs = [pair for pair in pairs if pair[1] is not search.parameters]
        step = tf.identity(self.iterations)
        pace, age = adam.paces(step)[PARAMETERS] if adam.paces else (1.0, step)
        adam.apply_gradients(pairs, **how)
        for gradient in own:
            search.move(gradient, adam.learning_rate * pace, age, adam.moments(search.parameters))
        search.after_step(tf.identity(self.iterations))
