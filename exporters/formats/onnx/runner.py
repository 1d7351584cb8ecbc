"""Runner of .onnx files in ONNX Runtime, on the CPU."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from exporters.formats.runners import BATCH_ROWS, Feed, Outputs, Values, check_inputs, fill, joined, rows_of, take
from exporters.formats.tensor_names import TEXT
from models_tf.ops.projection import ort_loader
from quantize.onnx.session import make_session


class OnnxRunner:
    """An .onnx file in ONNX Runtime, on the CPU."""

    def __init__(self, content: bytes, *, name: str, inputs: tuple[str, ...], rows: int | None = None) -> None:
        """`rows` of a batch, where the file takes any number."""
        session = session_for(content, inputs=inputs)
        given = {value.name: value.shape for value in session.get_inputs()}
        check_inputs(name, inputs, given)
        self.inputs, self._outputs = inputs, [value.name for value in session.get_outputs()]
        first = given[inputs[0]][0]
        self._fixed = isinstance(first, int)
        self._batch = first if self._fixed else rows or BATCH_ROWS
        self._session = session
        self.name = f"{name} on ONNX Runtime"

    def __call__(self, feed: Feed) -> Outputs:
        count, parts = rows_of(feed, self.inputs), []
        for start in range(0, count, self._batch):
            values = take({name: feed[name] for name in self.inputs}, start, self._batch)
            batch = {name: as_input(value) for name, value in values.items()}
            if self._fixed:
                batch = {name: fill(value, self._batch) for name, value in batch.items()}
            parts.append(dict(zip(self._outputs, self._session.run(self._outputs, batch), strict=True)))
        return {name: value[:count].astype(np.float32) for name, value in joined(parts).items()}


def session_for(content: bytes, *, inputs: Iterable[str], threads: int = 1) -> Any:
    """Text-in files get the projection op; all others must do without, which this proves."""
    options = ort_loader.session_options_with_projection() if TEXT in inputs else None
    return make_session(content, threads=threads, options=options)


def as_input(values: Values) -> np.ndarray:
    """Texts as ONNX Runtime takes them: of bytes it would print the Python form, b'...'."""
    return (
        values if isinstance(values, np.ndarray) else np.array([*(text.decode() for text in values), ""], object)[:-1]
    )
