"""Runners: callables from named inputs to named float outputs, and `KerasRunner`, the reference of all others.

Inputs and outputs are bound by name, never by position. An input is an array [rows, ...] or, for texts, a list of
bytes; an output is float32 [rows, ...]. Leaves out runtimes (`<format>/runner.py`) and what is compared with what.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

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


class RunnerError(Exception):
    """The runtime cannot run the file; the message is one line."""


class KerasRunner:
    """The model as trained. `function` takes and returns tensors by name."""

    name = "Keras"

    def __init__(self, function: Callable[..., Any], *, inputs: tuple[str, ...], rows: int | None = None) -> None:
        """`rows` per batch; None decides by their size."""
        import tensorflow as tf

        self.inputs, self._batch = inputs, rows
        self._function = tf.function(function, reduce_retracing=True, autograph=False)

    def __call__(self, feed: Feed) -> Outputs:
        values = {name: np.asarray(feed[name]) for name in self.inputs}
        count = rows_of(feed, self.inputs)
        size = self._batch or batch_rows(max(value[0].size for value in values.values()))
        parts = [
            {name: value.numpy() for name, value in self._function(**take(values, start, size)).items()}
            for start in range(0, count, size)
        ]
        return joined(parts)


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


def fill(batch: np.ndarray, size: int) -> np.ndarray:
    """Fills up the last batch: a graph of fixed batch size takes only full ones."""
    missing = size - len(batch)
    return np.concatenate([batch, np.repeat(batch[-1:], missing, axis=0)]) if missing else batch
