"""Runners: callables from named inputs to named float outputs, and `KerasRunner`, the reference of all others.

Inputs and outputs are bound by name, never by position. An input is an array [rows, ...] or, for texts, a list of
bytes; an output is float32 [rows, ...]. A file that takes any length runs each row at its own, and what it would answer
for padding is 0. Leaves out runtimes (`<format>/runner.py`) and what is compared with what.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

import numpy as np

from exporters.formats.io import IOS
from exporters.formats.tensor_names import LOGITS, PROBABILITIES
from models_tf import memory
from models_tf.spec import MASK

# Values of one input in a batch, if the runtime takes any number of rows. Graphs hold several float copies of the
# features, so 2**21 is several times 8 MB.
_BATCH_VALUES = 1 << 21
BATCH_ROWS = 32

Values: TypeAlias = "np.ndarray | Sequence[bytes]"
Feed: TypeAlias = Mapping[str, Values]
Outputs: TypeAlias = dict[str, np.ndarray]


class Runner(Protocol):
    """`inputs` are the names it reads; a feed may hold more."""

    name: str
    inputs: tuple[str, ...]

    def __call__(self, feed: Feed) -> Outputs: ...


# What follows the name of a runner that feeds padded rows to a file of any length, and of one that takes row by row
# what a file takes in batches.
PADDED, ROW_BY_ROW = " (padded)", " (row by row)"


class RunnerError(Exception):
    """The runtime cannot run the file; the message is one line."""


class OneCall:
    """A runner that is loaded when it is called and dropped again. Of those that share a `turn`, one is loaded at a
    time: large files need not be in memory together.
    """

    def __init__(
        self, load: Callable[[], Runner], *, name: str, inputs: tuple[str, ...], turn: AbstractContextManager[Any]
    ) -> None:
        self._load, self.name, self.inputs, self._turn = load, name, inputs, turn

    def __call__(self, feed: Feed) -> Outputs:
        with self._turn:
            answers = self._load()(feed)
            memory.give_back()
        return answers


class Renamed:
    """A runner under another name, where a file runs in two ways."""

    def __init__(self, runner: Runner, name: str) -> None:
        self._run, self.name, self.inputs = runner, name, runner.inputs

    def __call__(self, feed: Feed) -> Outputs:
        return self._run(feed)


class FromProbabilities:
    """A runner of a file that answers probabilities alone. Their logarithms are logits: other numbers than those of the
    network, by a constant for each row, and the same probabilities and labels.
    """

    def __init__(self, runner: Runner) -> None:
        self._run, self.name, self.inputs = runner, runner.name, runner.inputs

    def __call__(self, feed: Feed) -> Outputs:
        return with_logits(self._run(feed))


def with_logits(outputs: Outputs) -> Outputs:
    """Adds logits where there are probabilities alone."""
    if LOGITS in outputs or PROBABILITIES not in outputs:
        return outputs
    return {**outputs, LOGITS: np.log(np.maximum(outputs[PROBABILITIES], np.finfo(np.float32).tiny))}


class KerasRunner:
    """The model as trained. `function` takes and returns tensors by name."""

    name = "Keras"

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        inputs: tuple[str, ...],
        rows: int | None = None,
        any_length: bool = False,
        timed: Collection[str] = (),
    ) -> None:
        """`rows` per batch; None decides by their size. `any_length` and `timed` as in `in_batches`."""
        import tensorflow as tf

        self.inputs, self._batch = inputs, rows
        self._any_length, self._timed = any_length, timed
        self._function = tf.function(function, reduce_retracing=True, autograph=False)

    def __call__(self, feed: Feed) -> Outputs:
        values = {name: np.asarray(feed[name]) for name in self.inputs}
        size = self._batch or batch_rows(max(value[0].size for value in values.values()))

        def run(batch: Feed) -> Outputs:
            return {name: value.numpy() for name, value in self._function(**batch).items()}

        # Rows of one length: no answer of the reference depends on padding.
        return in_batches(values, run, size=size, any_length=self._any_length, timed=self._timed, equal=True)


def in_batches(
    feed: Feed,
    run: Callable[[dict[str, Values]], Outputs],
    *,
    size: int,
    any_length: bool,
    timed: Collection[str] = (),
    equal: bool = False,
) -> Outputs:
    """The outputs of all rows, from `run` on at most `size` rows at once.

    `any_length`: rows run sorted by length, each batch at that of its longest row, since another length costs a runtime
    time; `equal` puts rows of one length alone into a batch. `timed` are the outputs whose first axis behind the rows
    is time.
    """
    count, lengths = len(next(iter(feed.values()))), lengths_of(feed) if any_length else None
    whole: Outputs = {}
    for rows in _batches(count, lengths, size, equal=equal):
        batch = {name: _picked(values, rows) for name, values in feed.items()}
        if lengths is not None:
            batch = {name: np.asarray(values)[:, : lengths[rows].max()] for name, values in batch.items()}
        for name, values in run(batch).items():
            if name not in whole:
                shape = list(values.shape[1:])
                if lengths is not None and name in timed:
                    shape[0] = np.shape(next(iter(feed.values())))[1]
                whole[name] = np.zeros((count, *shape), values.dtype)
            if lengths is not None and name in timed:
                for row, answer in zip(rows, values, strict=False):  # a batch may be filled up
                    whole[name][row, : lengths[row]] = answer[: lengths[row]]
            else:
                whole[name][rows] = values[: len(rows)]
    return whole


def _batches(count: int, lengths: np.ndarray | None, size: int, *, equal: bool) -> Iterator[np.ndarray]:
    """The numbers of the rows of each batch."""
    order = np.arange(count) if lengths is None else np.argsort(lengths, kind="stable")
    groups = [order]
    if lengths is not None and equal:
        groups = np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1)
    for group in groups:
        for start in range(0, len(group), size):
            yield group[start : start + size]


def lengths_of(feed: Feed) -> np.ndarray:
    """The number of places up to the last token of each row, at least 1: by the mask, or by features that are not 0."""
    values = np.asarray(feed[MASK] if MASK in feed else next(iter(feed.values())))
    used = values != 0 if values.ndim == 2 else (values != 0).any(axis=tuple(range(2, values.ndim)))
    last: np.ndarray = used.shape[1] - used[:, ::-1].argmax(axis=1)
    return np.where(used.any(axis=1), last, 1)


def _picked(values: Values, rows: np.ndarray) -> Values:
    return values[rows] if isinstance(values, np.ndarray) else [values[int(row)] for row in rows]


def joined(parts: Sequence[Outputs]) -> Outputs:
    """The rows of all parts."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def rows_of(feed: Feed, inputs: tuple[str, ...]) -> int:
    return len(feed[inputs[0]])


def take(feed: Feed, start: int, size: int) -> dict[str, Values]:
    """At most `size` rows."""
    return {name: values[start : start + size] for name, values in feed.items()}


def check_inputs(file: str, expected: tuple[str, ...], given: Iterable[str]) -> None:
    if set(given) != set(expected):
        raise ValueError(f"{file} must have the inputs {', '.join(expected)}. Received: {', '.join(given)}.")


def batch_rows(row_values: int) -> int:
    """Rows per batch, for rows of `row_values` values."""
    return max(1, min(BATCH_ROWS, _BATCH_VALUES // row_values))


def widened(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Whole numbers of 8 bits in the type that a file takes them in; anything else as it is."""
    return values.astype(dtype, copy=False) if values.dtype == np.int8 and np.dtype(dtype).name in IOS else values


def fill(batch: np.ndarray, size: int) -> np.ndarray:
    """Fills up the last batch: a graph of fixed batch size takes only full ones."""
    missing = size - len(batch)
    return np.concatenate([batch, np.repeat(batch[-1:], missing, axis=0)]) if missing else batch
