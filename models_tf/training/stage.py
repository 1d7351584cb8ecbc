"""`Stage`: a part of a training with its own epochs, batches, loss and optimizer; `trainer.py` walks a list of them."""

import abc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import tensorflow as tf

from models_tf.layers.dropout import Draws

# The stage that learns the task; a training may have others before it.
MAIN_STAGE = "train"


class Optimizer(Protocol):
    iterations: tf.Variable

    @property
    def variables(self) -> list[tf.Variable]: ...

    def apply_gradients(self, pairs: Iterable[tuple[tf.Tensor, tf.Variable]]) -> Any: ...


class Batches(Protocol):
    steps_per_epoch: int

    def signature(self) -> dict[str, tf.TensorSpec]:
        """Names, shapes and types of a batch."""
        ...

    def batches(self, epoch: int, skip: int) -> Iterator[tuple[int, dict[str, tf.Tensor]]]:
        """Rows and tensors of each batch, without the first `skip`. `epoch` counts those of all stages."""
        ...


@dataclass(frozen=True, kw_only=True)
class Stage(abc.ABC):
    """`trained` are the variables that get gradients. Only epochs of a `judged` stage are evaluated and kept."""

    name: str
    epochs: int
    data: Batches
    optimizer: Optimizer
    trained: list[tf.Variable]
    judged: bool = False

    @abc.abstractmethod
    def loss(self, batch: dict[str, tf.Tensor], draws: Draws) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """What is shown, what is minimised, and how many rows are right (NaN: nothing to count). Traced once."""

    def note(self) -> str:
        """A line to show before the first step, if there is something to say."""
        return ""

    def before_step(self) -> None:  # noqa: B027 - most stages have nothing to do
        """Called before every step, outside of the graph."""
