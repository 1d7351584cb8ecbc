"""`Learner`: what the training loop needs to know of a kind of model. The loop itself is in `trainer.py`."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import tensorflow as tf
import tf_keras as keras

from models_tf.training.stage import Stage


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A dev score: `value` is a share or a correlation, the higher the better."""

    value: float
    rows: int


class Learner(Protocol):
    """`model` is what callbacks get. `weights` are averaged and kept; `state` is what else a resumed training needs,
    with the stages' optimizers.
    """

    model: keras.Model
    stages: list[Stage]
    weights: list[tf.Variable]
    state: list[tf.Variable]

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
        """Settings that must be the same when a training is resumed."""
        ...
