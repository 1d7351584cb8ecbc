"""Batches of rows with answers: rows of similar length together, cut to the longest of each batch."""

import math
from collections.abc import Iterator, Mapping

import numpy as np
import tensorflow as tf

from models_tf.encoder.batches import INPUTS, lengths_of
from models_tf.tasks.rows import TaskRows
from models_tf.training.batches import like_length
from models_tf.training.row_file import RowFile

_TARGET, _SOFT = "target:", "soft:"


class Arrays:
    """What batches are cut from. `soft` are a teacher's outputs on the rows, by name; `soft_places` says whether the
    model's outputs, and so these, are one per token.
    """

    def __init__(self, rows: TaskRows, soft: Mapping[str, np.ndarray | RowFile], *, soft_places: bool) -> None:
        self.lengths = lengths_of(rows.inputs)
        # Each with whether it has a place for each token.
        self.arrays: dict[str, tuple[np.ndarray | RowFile, bool]] = {name: (rows.inputs[name], True) for name in INPUTS}
        # One target per token, or several labels of a text.
        placed = {name: value.ndim > 1 and soft_places for name, value in (rows.targets or {}).items()}
        self.arrays |= {_TARGET + name: (value, placed[name]) for name, value in (rows.targets or {}).items()}
        self.arrays |= {_SOFT + name: (value, soft_places) for name, value in soft.items()}

    def signature(self) -> dict[str, tf.TensorSpec]:
        return {
            name: tf.TensorSpec((None, None, *value.shape[2:])[: value.ndim] if places else (None, *value.shape[1:]),
                                tf.as_dtype(value.dtype))
            for name, (value, places) in self.arrays.items()
        }  # fmt: skip

    def batches(
        self, batch_size: int, generator: np.random.Generator, skip: int
    ) -> Iterator[tuple[int, dict[str, tf.Tensor]]]:
        """Rows and tensors of each batch, without the first `skip`."""
        for index, rows in enumerate(like_length(self.lengths, batch_size, generator)):
            if index < skip:
                continue
            length = int(self.lengths[rows].max())
            batch = {
                name: tf.constant(value[rows, :length] if places else value[rows])
                for name, (value, places) in self.arrays.items()
            }
            yield len(rows), batch


class TaskBatches:
    """Batches of rows that are held."""

    def __init__(
        self, rows: TaskRows, soft: Mapping[str, np.ndarray], *, soft_places: bool, batch_size: int, seed: int
    ) -> None:
        self.batch_size, self.seed = batch_size, seed
        self.arrays = Arrays(rows, soft, soft_places=soft_places)
        self.steps_per_epoch = math.ceil(len(rows) / batch_size)

    def signature(self) -> dict[str, tf.TensorSpec]:
        return self.arrays.signature()

    def batches(self, epoch: int, skip: int) -> Iterator[tuple[int, dict[str, tf.Tensor]]]:
        """Rows and tensors of each batch of an epoch, without the first `skip`."""
        return self.arrays.batches(self.batch_size, np.random.default_rng((self.seed, epoch)), skip)


def targets_of(batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    return _part(batch, _TARGET)


def soft_of(batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    return _part(batch, _SOFT)


def _part(batch: Mapping[str, tf.Tensor], prefix: str) -> dict[str, tf.Tensor]:
    return {name.removeprefix(prefix): value for name, value in batch.items() if name.startswith(prefix)}
