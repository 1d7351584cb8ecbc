"""`Updates`: one step of the optimizer from the gradients of one or several batches, on one or several devices.

Batches of a group count as one: every mean of a loss is taken over all of their rows, words or tokens. So do parts of a
batch: each replica of the strategy takes some of its rows, draws what these would draw among all, and gets the sum of
all gradients before they are clipped. What a layer computes over a batch, such as its statistics, it computes over all
parts of it, but not over the other batches of a group.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from models_tf.layers.dropout import Draws
from models_tf.training.stage import Batch, Shares, Stage

# Rows, tensors and seed of a batch.
Part = tuple[int, Batch, np.ndarray]
Found = tuple[tf.Tensor, tf.Tensor]


class Updates:
    """Of one stage. `averages`, if there are any, follow the `weights` with a decay that rises to `average`."""

    def __init__(
        self, stage: Stage, weights: list[tf.Variable], averages: list[tf.Variable], *, average: float, accumulate: int
    ) -> None:
        self.stage, self.weights, self.averages, self.average = stage, weights, averages, average
        self.strategy = tf.distribute.get_strategy()
        self.replicas, self._distributed = self.strategy.num_replicas_in_sync, tf.distribute.has_strategy()
        signature = [stage.data.signature(), tf.TensorSpec((), tf.int32), tf.TensorSpec((2,), tf.int32)]
        self._sums: list[tf.Variable] = []
        if accumulate == 1:
            self._whole = tf.function(self._update, input_signature=signature, autograph=False)
            return
        self._sums = [tf.Variable(tf.zeros(weight.shape), trainable=False) for weight in stage.trained]
        self._learned = [False] * len(self._sums)
        self._sizes = tf.function(stage.sizes, input_signature=signature[:1], autograph=False)
        names = self._sizes.get_concrete_function().structured_outputs
        total = {name: tf.TensorSpec((), tf.float32) for name in names}
        self._more = tf.function(self._add, input_signature=[*signature, total], autograph=False)
        self._end = tf.function(self._apply_sums, autograph=False)

    def __call__(self, group: Sequence[Part]) -> tuple[float, float]:
        """The loss and how many rows are right, of all batches of the group."""
        if not self._sums:
            ((rows, batch, seed),) = group
            loss, hits = self._whole(batch, rows, seed)
            return float(loss), float(hits)
        sizes = [self._sizes(batch) for _, batch, _ in group]
        total = {name: tf.add_n([each[name] for each in sizes]) for name in sizes[0]}
        found = [self._more(batch, rows, seed, total) for rows, batch, seed in group]
        self._end()
        return sum(float(loss) for loss, _ in found), sum(float(hits) for _, hits in found)

    def _update(self, batch: Batch, rows: tf.Tensor, seed: tf.Tensor) -> Found:
        def replica() -> Found:
            gradients, found = self._gradients(batch, rows, seed, None)
            self._apply(gradients)
            return found

        return self._run(replica)

    def _add(self, batch: Batch, rows: tf.Tensor, seed: tf.Tensor, total: dict[str, tf.Tensor]) -> Found:
        def replica() -> Found:
            gradients, found = self._gradients(batch, rows, seed, total)
            for index, (sums, gradient) in enumerate(zip(self._sums, gradients, strict=True)):
                if gradient is not None:
                    self._learned[index] = True
                    sums.assign_add(gradient)
            return found

        return self._run(replica)

    def _apply_sums(self) -> None:
        def replica() -> None:
            pairs = zip(self._sums, self._learned, strict=True)
            self._apply([tf.identity(sums) if learned else None for sums, learned in pairs])
            for sums in self._sums:
                sums.assign(tf.zeros(sums.shape))

        self._run(replica)

    def _run(self, replica: Any) -> Any:
        if not self._distributed:
            return replica()
        found = self.strategy.run(replica)
        return tf.nest.map_structure(lambda value: self.strategy.experimental_local_results(value)[0], found)

    def _gradients(
        self, batch: Batch, rows: tf.Tensor, seed: tf.Tensor, total: dict[str, tf.Tensor] | None
    ) -> tuple[list[tf.Tensor | None], Found]:
        stage, counted = self.stage, tf.constant(1.0)
        shares: Shares = None
        part, draws = batch, Draws(seed)
        if self.replicas > 1:
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            start, end = (rows * (number + more) // self.replicas for more in (0, 1))
            counted = tf.cast(end > start, tf.float32)
            start = tf.minimum(start, rows - 1)
            end = tf.maximum(end, start + 1)
            part = stage.without_effect(stage.part(batch, start, end), counted)
            draws = Draws(seed, (start, end - start, rows))
            total = total or stage.sizes(batch)
        if total is not None:
            own = stage.sizes(part)
            shares = {name: counted * tf.math.divide_no_nan(value, total[name]) for name, value in own.items()}
        with tf.GradientTape() as tape:
            loss, minimised, hits = stage.loss(part, draws, shares)
            hits *= counted
        gradients = tape.gradient(minimised, stage.trained)
        return self._reduced(gradients, (loss, hits))

    def _reduced(self, gradients: list[Any], found: Found) -> tuple[list[Any], Found]:
        if self.replicas == 1:
            return gradients, found
        given = [tf.identity(tf.convert_to_tensor(value)) for value in (*gradients, *found) if value is not None]
        replica = tf.distribute.get_replica_context()
        *sums, loss, hits = replica.all_reduce(tf.distribute.ReduceOp.SUM, given)
        left = iter(sums)
        return [None if gradient is None else next(left) for gradient in gradients], (loss, hits)

    def _apply(self, gradients: list[Any]) -> None:
        optimizer = self.stage.optimizer
        pairs = zip(gradients, self.stage.trained, strict=True)
        optimizer.apply_gradients(pairs, skip_gradients_aggregation=True)
        step = tf.cast(optimizer.iterations, tf.float32)
        decay = tf.minimum(self.average, (1.0 + step) / (10.0 + step))
        for average, weight in zip(self.averages, self.weights, strict=bool(self.averages)):
            average.assign(decay * average + (1.0 - decay) * weight)
