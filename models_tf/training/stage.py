"""`Stage`: a part of a training with its own epochs, batches, loss and optimizer; `trainer.py` walks a list of them."""

import abc
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import tensorflow as tf

from models_tf.layers.dropout import Draws

# The stage that learns the task; a training may have others before it.
MAIN_STAGE = "train"
# What means of a loss are taken over.
ROWS, LABELS, TOKENS = "rows", "labels", "tokens"

Batch = dict[str, tf.Tensor]
Shares = Mapping[str, tf.Tensor] | None


def weighted(term: tf.Tensor, shares: Shares, name: str) -> tf.Tensor:
    """A mean over a part of the rows of an update, as its part of the mean over all of them."""
    return term if shares is None else tf.math.multiply_no_nan(term, shares[name])  # of no rows: 0, not NaN


class Optimizer(Protocol):
    iterations: tf.Variable

    @property
    def learning_rate(self) -> tf.Variable: ...

    @property
    def variables(self) -> list[tf.Variable]: ...

    def apply_gradients(self, pairs: Iterable[tuple[tf.Tensor, tf.Variable]], **how: Any) -> Any: ...


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
    def sizes(self, batch: Batch) -> dict[str, tf.Tensor]:
        """What the means of the loss are taken over, as float32 by name; those of parts add up."""

    @abc.abstractmethod
    def loss(self, batch: Batch, draws: Draws, shares: Shares = None) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """What is shown, what is minimised, and how many rows are right (NaN: nothing to count). Traced once.

        If the batch is a part of what is learned in one update, `shares` are the parts that its `sizes` are of all; the
        losses of all parts add up to that of the whole.
        """

    def part(self, batch: Batch, start: tf.Tensor, end: tf.Tensor) -> Batch:
        """The rows from `start` to before `end`."""
        return {name: value[start:end] for name, value in batch.items()}

    def without_effect(self, part: Batch, counted: tf.Tensor) -> Batch:  # noqa: ARG002 - most have nothing to remove
        """The part unchanged where `counted` is 1. Where it is 0 the replica runs a row that is not its own: this
        removes what would count although its loss is 0, such as batch statistics.

        A replica without rows cannot run an empty batch: a convolution of oneDNN gives it the wrong shape.
        """
        return part

    def note(self) -> str:
        """A line to show before the first step, if there is something to say."""
        return ""

    def before_step(self) -> None:  # noqa: B027 - most stages have nothing to do
        """Called before every step, outside of the graph."""
