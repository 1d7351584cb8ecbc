"""`Learner`: what the training loop needs to know of a kind of model. The loop itself is in `trainer.py`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

# The part of a training that learns the task; a learner may have others before it.
MAIN_STAGE = "train"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A dev score: `value` is a share or a correlation, the higher the better."""

    value: float
    rows: int


class Optimizer(Protocol):
    iterations: tf.Variable

    @property
    def variables(self) -> list[tf.Variable]: ...

    def apply_gradients(self, pairs: Iterable[tuple[tf.Tensor, tf.Variable]]) -> Any: ...


class Learner(Protocol):
    """`weights` are averaged and kept; `trained` get gradients; `state` is what else a resumed training needs."""

    epochs: int  # of all stages
    weights: list[tf.Variable]
    trained: list[tf.Variable]
    state: list[tf.Variable]

    def steps_of(self, epoch: int) -> int:
        """Batches of an epoch."""
        ...

    def optimizer(self, stage: str) -> Optimizer:
        """Its variables are part of `state`."""
        ...

    def stage(self, epoch: int) -> str:
        """Each stage has a loss of its own; only epochs of the `MAIN_STAGE` are judged and kept."""
        ...

    def signature(self, stage: str) -> dict[str, tf.TensorSpec]:
        """Names, shapes and types of a batch."""
        ...

    def batches(self, epoch: int, skip: int) -> Iterable[tuple[int, dict[str, tf.Tensor]]]:
        """Rows and tensors of each batch of an epoch, without the first `skip`."""
        ...

    def loss(self, stage: str, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """What is shown, what is minimised, and how many rows are right (NaN: nothing to count). Traced once."""
        ...

    def evaluate(self) -> Measured:
        """The score of the present weights on the dev file."""
        ...

    def tensors(self) -> dict[str, np.ndarray]:
        """What `save` would write of the present weights."""
        ...

    def save(self, tensors: dict[str, np.ndarray], record: dict[str, Any]) -> None:
        """Writes the checkpoint of the best epoch so far."""
        ...

    def finish(self, result: dict[str, Any]) -> dict[str, Any]:
        """Judges what was kept; `result` with more in it."""
        ...

    def fingerprint(self) -> dict[str, Any]:
        """What must be the same when a training is resumed."""
        ...
