"""A training file that is too large to hold: its rows are read again in every epoch, a window of them at a time.

Windows come in the order of the file, their rows in random order. What is random follows from the seed, the epoch and
the window's number, so a training continues at any of them. Leaves out projection models (`batches.py`).
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from models_tf import limits
from models_tf.errors import InputError
from models_tf.tasks.rows import TaskRows
from models_tf.training.row_file import RowFile
from models_tf.training.task_batches import Arrays

# Of `held_bytes`: while a window is trained on, its texts and its tokens are there.
_PART = 2
# Rows that stand for all where some are enough: to compress a model, or to start it from a teacher.
SAMPLE_ROWS = 4096


@dataclass(frozen=True, kw_only=True)
class WindowedFile:
    """Iterating reads the rows from the disk. `sizes` are the rows of each window."""

    path: Path
    read: Callable[[], Iterator[Any]]
    sizes: tuple[int, ...]

    def __iter__(self) -> Iterator[Any]:
        return self.read()

    def __len__(self) -> int:
        return sum(self.sizes)

    def windows(self) -> Iterator[list[Any]]:
        rows = self.read()
        for size in self.sizes:
            window = list(itertools.islice(rows, size))
            if len(window) < size:
                raise InputError(f"{self.path} must stay as it is while it is read. Received: fewer rows than before.")
            yield window

    def sample(self) -> list[Any]:
        """Rows from all over the file."""
        return list(itertools.islice(self.read(), 0, None, math.ceil(len(self) / SAMPLE_ROWS)))

    def note(self) -> str:
        return (
            f"{self.path}: {len(self):,} rows are read in each epoch, and shuffled in windows of up to "
            f"{max(self.sizes):,} (the limits rows and held_bytes)."
        )


def hold_or_window(
    path: Path,
    read: Callable[[], Iterator[Any]],
    *,
    size: Callable[[Any], int],
    watch: Callable[[Iterator[Any]], Iterator[Any]],
) -> list[Any] | WindowedFile:
    """All rows if they fit into one window. `size` gives the bytes of a row; `watch` sees each row once."""
    most, most_bytes = limits.value("rows"), limits.value("held_bytes") // _PART
    held: list[Any] = []
    sizes, used = [0], 0
    for row in watch(read()):
        own = size(row)
        if sizes[-1] and (sizes[-1] == most or used + own > most_bytes):
            sizes.append(0)
            held, used = [], 0
        sizes[-1] += 1
        used += own
        if len(sizes) == 1:
            held.append(row)
    return held if len(sizes) == 1 else WindowedFile(path=path, read=read, sizes=tuple(sizes))


@dataclass(frozen=True, kw_only=True)
class WindowedRows:
    """The rows of a `file` as a model reads them: `encode` gets those of a window."""

    file: WindowedFile
    encode: Callable[[list[Any]], TaskRows]


class WindowedBatches:
    """Batches of `rows`. `like` are some of them, encoded; `soft` and `soft_places` are as for `TaskBatches`."""

    def __init__(
        self,
        rows: WindowedRows,
        like: TaskRows,
        soft: Mapping[str, RowFile],
        *,
        soft_places: bool,
        batch_size: int,
        seed: int,
    ) -> None:
        self.rows, self.soft, self.soft_places = rows, soft, soft_places
        self.batch_size, self.seed = batch_size, seed
        self.steps = [math.ceil(size / batch_size) for size in rows.file.sizes]
        self.steps_per_epoch = sum(self.steps)
        self._signature = Arrays(like, soft, soft_places=soft_places).signature()

    def signature(self) -> dict[str, tf.TensorSpec]:
        return self._signature

    def batches(self, epoch: int, skip: int) -> Iterator[tuple[int, dict[str, tf.Tensor]]]:
        """Rows and tensors of each batch of an epoch, without the first `skip`."""
        start = 0
        for number, (parsed, steps) in enumerate(zip(self.rows.file.windows(), self.steps, strict=True)):
            count = len(parsed)
            if skip < steps:
                yield from self._window(parsed, start, np.random.default_rng((self.seed, epoch, number, 2)), skip)
            parsed.clear()  # before the next window is read
            start, skip = start + count, max(0, skip - steps)

    def _window(
        self, parsed: list[Any], start: int, generator: np.random.Generator, skip: int
    ) -> Iterator[tuple[int, dict[str, tf.Tensor]]]:
        soft = {name: answers.at(start) for name, answers in self.soft.items()}
        arrays = Arrays(self.rows.encode(parsed), soft, soft_places=self.soft_places)
        yield from arrays.batches(self.batch_size, generator, skip)
