"""`AdamW`: that of Keras (Loshchilov and Hutter, 2019), with what a training of token models needs besides.

Slots, schedule, global clip norm, exclusion from the decay and distribution are Keras'. Ours, since Keras cannot do it:

- a pace for each weight: a factor of its learning rate, and of its decay, and the step its moments began at;
- an epsilon of its own for scores, whose gradients are far smaller than those of weights;
- gradients of embeddings are made dense: Keras counts the parts of a row that occurs twice one by one in the norm that
  is clipped;
- the padding row gets no gradient;
- one fused kernel for each weight: Keras' own update makes several passes over it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
import tf_keras as keras

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-6
# What has gradients far smaller than weights have: the epsilon that fits these would slow it down.
_FINE = (".score", ".retention")
_FINE_EPSILON = 1e-8
_NOT_DECAYED = (".gamma", ".beta", ".bias", *_FINE)


@dataclass(frozen=True, kw_only=True)
class _Step:
    """What an update reads besides the weight and its gradient."""

    rate: tf.Tensor
    decay: tf.Tensor
    beta_1_power: tf.Tensor
    beta_2_power: tf.Tensor


class AdamW(keras.optimizers.AdamW):
    """`paces(step)` gives by the name of a weight a factor of its learning rate, and its age: steps since its first
    gradient, from 0. Without it the factor is 1 and the age is the step. `frozen_rows` gives by the name of a
    table a row that gets no gradient: that of padding, as in PyTorch.
    """

    def __init__(
        self,
        weights: Mapping[str, tf.Variable],
        schedule: keras.optimizers.schedules.LearningRateSchedule | float,
        *,
        weight_decay: float,
        clip_norm: float,
        paces: Callable[[tf.Tensor], Mapping[str, tuple[tf.Tensor, tf.Tensor]]] | None = None,
        frozen_rows: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(
            learning_rate=schedule,
            weight_decay=weight_decay,
            beta_1=BETA_1,
            beta_2=BETA_2,
            epsilon=EPSILON,
            global_clipnorm=clip_norm or None,
            jit_compile=False,
        )
        self.names, self.paces = tuple(weights), paces
        self.frozen_rows = dict(frozen_rows or {})
        # Keras would apply its decay to all weights at one pace.
        self.decay, self.weight_decay = weight_decay, None
        excluded = [variable for name, variable in weights.items() if name.endswith(_NOT_DECAYED)]
        self.exclude_from_weight_decay(var_list=excluded)
        self.build(list(weights.values()))

    def moments(self, variable: tf.Variable) -> tuple[tf.Variable, tf.Variable]:
        """Of the gradients and of their squares."""
        index = self._index_dict[self._var_key(variable)]
        return self._momentums[index], self._velocities[index]

    def apply_gradients(self, pairs: Iterable[tuple[tf.Tensor | None, tf.Variable]], **how: Any) -> Any:
        found = [(self._dense(gradient, variable), variable) for gradient, variable in pairs if gradient is not None]
        self._now = dict(self.paces(tf.identity(self.iterations))) if self.paces else {}
        self._steps: dict[tuple[int, int], _Step] = {}
        return super().apply_gradients(found, **how)

    def update_step(self, gradient: tf.Tensor, variable: tf.Variable) -> None:
        name = self._name(variable)
        step = self._step(*self._now.get(name, (1.0, self.iterations)))
        if self.decay and self._use_weight_decay(variable):
            variable.assign_sub(step.decay * variable)
        mean, square = self.moments(variable)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=mean.handle,
            v=square.handle,
            beta1_power=step.beta_1_power,
            beta2_power=step.beta_2_power,
            lr=step.rate,
            beta1=BETA_1,
            beta2=BETA_2,
            epsilon=_FINE_EPSILON if name.endswith(_FINE) else EPSILON,
            grad=gradient,
        )

    def _step(self, factor: tf.Tensor | float, age: tf.Tensor) -> _Step:
        """Most weights share it, and a graph is made the faster the fewer operators it has."""
        key = id(factor), id(age)
        if key not in self._steps:
            rate, count = self.learning_rate * factor, tf.cast(age, tf.float32) + 1.0
            self._steps[key] = _Step(
                rate=rate,
                decay=rate * self.decay,
                beta_1_power=tf.pow(BETA_1, count),
                beta_2_power=tf.pow(BETA_2, count),
            )
        return self._steps[key]

    def _name(self, variable: tf.Variable) -> str:
        return self.names[self._index_dict[self._var_key(variable)]]

    def _dense(self, gradient: tf.Tensor | tf.IndexedSlices, variable: tf.Variable) -> tf.Tensor:
        frozen, dense = self.frozen_rows.get(self._name(variable)), tf.convert_to_tensor(gradient)
        if frozen is None:
            return dense
        return tf.tensor_scatter_nd_update(dense, [[frozen]], tf.zeros((1, variable.shape[1])))
