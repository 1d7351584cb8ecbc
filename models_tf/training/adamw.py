"""AdamW (Loshchilov and Hutter, 2019) with one fused kernel a weight, and a learning rate a weight if asked for.

Gradients of embeddings are made dense: duplicate rows then count once in the norm that is clipped, and on a table of
30522 x 128 the dense update is a few milliseconds of a step of hundreds.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import tensorflow as tf

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-6
# What has gradients far smaller than weights have: the epsilon that fits these would slow it down.
_FINE = (".score", ".retention")
_FINE_EPSILON = 1e-8
_NOT_DECAYED = (".gamma", ".beta", ".bias", *_FINE)


class AdamW:
    """`paces(step)` gives by the name of a weight a factor of its learning rate, and its age: steps since its first
    gradient, from 0. Without it the factor is 1 and the age is the step. `frozen_rows` gives by the name of a
    table a row that gets no gradient: that of padding, as in PyTorch.
    """

    def __init__(
        self,
        weights: Mapping[str, tf.Variable],
        schedule: Callable[[tf.Tensor], tf.Tensor],
        *,
        weight_decay: float,
        clip_norm: float,
        paces: Callable[[tf.Tensor], Mapping[str, tuple[tf.Tensor, tf.Tensor]]] | None = None,
        frozen_rows: Mapping[str, int] | None = None,
    ) -> None:
        self.names = {variable.ref(): name for name, variable in weights.items()}
        self.schedule, self.weight_decay, self.clip_norm, self.paces = schedule, weight_decay, clip_norm, paces
        self.frozen_rows = dict(frozen_rows or {})
        self.iterations = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.moments = {
            name: tuple(tf.Variable(tf.zeros_like(variable), trainable=False) for _ in range(2))
            for name, variable in weights.items()
        }

    @property
    def variables(self) -> list[tf.Variable]:
        return [self.iterations, *(moment for pair in self.moments.values() for moment in pair)]

    def apply_gradients(self, pairs: Iterable[tuple[tf.Tensor | None, tf.Variable]]) -> None:
        found = [(self._dense(g, variable), variable) for g, variable in pairs if g is not None]
        scale = self._clip([gradient for gradient, _ in found])
        rate = self.schedule(self.iterations)
        paces = self.paces(self.iterations) if self.paces else {}
        step = tf.identity(self.iterations)
        for gradient, variable in found:
            name = self.names[variable.ref()]
            factor, age = paces.get(name, (1.0, step))
            own, count = rate * factor, tf.cast(age, tf.float32) + 1.0
            if self.weight_decay and not name.endswith(_NOT_DECAYED):
                variable.assign_sub(own * self.weight_decay * variable)
            mean, square = self.moments[name]
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=mean.handle,
                v=square.handle,
                beta1_power=tf.pow(BETA_1, count),
                beta2_power=tf.pow(BETA_2, count),
                lr=own,
                beta1=BETA_1,
                beta2=BETA_2,
                epsilon=_FINE_EPSILON if name.endswith(_FINE) else EPSILON,
                grad=gradient * scale,
            )
        self.iterations.assign_add(1)

    def _dense(self, gradient: tf.Tensor | tf.IndexedSlices, variable: tf.Variable) -> tf.Tensor:
        frozen = self.frozen_rows.get(self.names[variable.ref()])
        if isinstance(gradient, tf.IndexedSlices) and frozen is not None:
            kept = tf.cast(tf.not_equal(gradient.indices, frozen), tf.float32)
            gradient = tf.IndexedSlices(gradient.values * kept[:, None], gradient.indices, gradient.dense_shape)
        return tf.convert_to_tensor(gradient)

    def _clip(self, gradients: Sequence[tf.Tensor]) -> tf.Tensor:
        if not self.clip_norm:
            return tf.constant(1.0)
        norm = tf.sqrt(tf.add_n([2.0 * tf.nn.l2_loss(gradient) for gradient in gradients]))
        return self.clip_norm / tf.maximum(norm, self.clip_norm)
