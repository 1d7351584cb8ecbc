"""Runner of .onnx files in ONNX Runtime, on the CPU."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from exporters.formats.runners import BATCH_ROWS, PADDED, Feed, Outputs, Values, check_inputs, fill, in_batches, widened
from exporters.formats.tensor_names import TEXT
from exporters.formats.texts import as_bytes, holds_projection
from models_tf.ops.projection import ort_loader
from quantize.onnx.session import make_session

_DYNAMIC = b"DynamicQuantizeLinear"
_BYTES = "tensor(uint8)"
# Types that features may have.
_NUMBERS = {"tensor(float)": np.float32, "tensor(int32)": np.int32, "tensor(int8)": np.int8}


class OnnxRunner:
    """An .onnx file in ONNX Runtime, on the CPU."""

    def __init__(
        self, content: bytes, *, name: str, inputs: tuple[str, ...], rows: int | None = None, padded: bool = False
    ) -> None:
        """`rows` of a batch, where the file takes any number."""
        session = session_for(content)
        given = {value.name: value.shape for value in session.get_inputs()}
        self._kinds = {value.name: value.type for value in session.get_inputs()}
        check_inputs(name, inputs, given)
        self.inputs, self._outputs = inputs, [value.name for value in session.get_outputs()]
        first = given[inputs[0]][0]
        self._fixed = isinstance(first, int)
        # One by one where one scale is found for all rows of a batch: a row's answer would depend on its neighbors.
        most = 1 if _DYNAMIC in content else rows or BATCH_ROWS
        self._batch = first if self._fixed else most
        self._session = session
        is_text = any(kind == _BYTES and name == TEXT for name, kind in self._kinds.items())
        self._any_length = not padded and not is_text and all(_takes_any_length(shape) for shape in given.values())
        self._timed = [value.name for value in session.get_outputs() if _takes_any_length(value.shape)]
        self.name = f"{name} on ONNX Runtime{PADDED if padded else ''}"

    def __call__(self, feed: Feed) -> Outputs:
        given = {name: feed[name] for name in self.inputs}
        return in_batches(given, self._batch_of, size=self._batch, any_length=self._any_length, timed=self._timed)

    def _batch_of(self, batch: Feed) -> Outputs:
        arrays = {name: as_input(values, self._kinds[name]) for name, values in batch.items()}
        if self._fixed:
            arrays = {name: fill(values, self._batch) for name, values in arrays.items()}
        answers = self._session.run(self._outputs, arrays)
        return {name: value.astype(np.float32) for name, value in zip(self._outputs, answers, strict=True)}


def session_for(content: bytes, *, threads: int = 1) -> Any:
    """Files that hold the projection op get it; all others must run without it, which this proves."""
    options = ort_loader.session_options_with_projection() if holds_projection(content) else None
    return make_session(content, threads=threads, options=options)


def _takes_any_length(shape: Sequence[int | str | None]) -> bool:
    """Whether the size behind that of the rows is open."""
    return len(shape) > 1 and not isinstance(shape[1], int)


def as_input(values: Values, kind: str) -> np.ndarray:
    """Texts as the input takes them, by its type: as bytes, which need no padding, or as strings. Of Python's bytes it
    would print the form b'...'.
    """
    if isinstance(values, np.ndarray):
        return widened(values, _NUMBERS[kind]) if kind in _NUMBERS else values
    if kind == _BYTES:
        return as_bytes(values)
    return np.array([*(text.decode() for text in values), ""], object)[:-1]
