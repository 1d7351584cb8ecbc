"""Calibration: runs a float TFLite model over example rows and records the range of every activation.

The result, `CalibrationRanges`, is a plain value: single tensors can be overridden (an exact integer input) before a
quantizer uses it. Which format is quantized afterwards does not matter; how ranges become scales is decided by the
quantizers.
"""

import dataclasses
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quantize import flatbuffer

Rows = Iterable[Mapping[str, np.ndarray]]


@dataclass(frozen=True, kw_only=True)
class CalibrationRanges:
    """Smallest and largest value of each tensor, by tensor name."""

    ranges: Mapping[str, tuple[float, float]]
    row_count: int

    def __post_init__(self) -> None:
        if self.row_count < 1:
            raise ValueError(f"Calibration needs at least one row. Received: {self.row_count}.")
        for name, (low, high) in self.ranges.items():
            if not (np.isfinite(low) and np.isfinite(high) and low <= high):
                raise ValueError(f"The range of tensor {name!r} must be finite and ordered. Received: {(low, high)}.")

    def override(self, changes: Mapping[str, tuple[float, float]]) -> "CalibrationRanges":
        """The same ranges with some replaced; a name that was not calibrated is an error."""
        unknown = sorted(set(changes) - set(self.ranges))
        if unknown:
            raise ValueError(f"Only calibrated tensors can be overridden. Received: {', '.join(unknown)}.")
        return dataclasses.replace(self, ranges={**self.ranges, **changes})


def calibrate(float_model: bytes, rows: Rows, *, threads: int = 1) -> CalibrationRanges:
    """Ranges of all float activations of the first subgraph over the rows.

    A row maps the names of the signature's inputs to arrays (never by position: swapped inputs give ranges that
    look right and are not).
    """
    names = _activation_names(float_model)
    return collect(
        {names[index]: array for index, array in values.items()} for values in _run(float_model, rows, names, threads)
    )


def collect(rows: Iterable[Mapping[str, np.ndarray]]) -> CalibrationRanges:
    """Ranges from the activations of each row; memory does not grow with the rows."""
    ranges: dict[str, tuple[float, float]] = {}
    row_count = 0
    for values in rows:
        row_count += 1
        for name, array in values.items():
            low, high = float(array.min()), float(array.max())
            before = ranges.get(name, (low, high))
            # The comparison of `min` would lose a NaN, which must be refused.
            ranges[name] = (float(np.minimum(before[0], low)), float(np.maximum(before[1], high)))
    if not row_count:
        raise ValueError("Calibration needs at least one row. Received: none.")
    return CalibrationRanges(ranges=ranges, row_count=row_count)


def _activation_names(float_model: bytes) -> dict[int, str]:
    """Index and name of every float tensor that is computed at run time."""
    model = flatbuffer.read_model(float_model)
    graph = model.subgraphs[0]
    return {
        index: flatbuffer.tensor_name(tensor)
        for index, tensor in enumerate(graph.tensors)
        if tensor.type == flatbuffer.schema.TensorType.FLOAT32 and flatbuffer.buffer_bytes(model, tensor) is None
    }


def _run(float_model: bytes, rows: Rows, indices: Iterable[int], threads: int) -> Iterator[dict[int, np.ndarray]]:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    # A delegate computes whole stretches of the graph on its own and leaves the tensors inside unset, so that the
    # ranges would be those of uninitialized memory: the default delegate (XNNPACK) must stay off here.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "preserve_all_tensors is for debugging": that is the point
        interpreter = Interpreter(
            model_content=float_model,
            num_threads=threads,
            experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
            experimental_preserve_all_tensors=True,
        )
    interpreter.allocate_tensors()
    signature: Any = interpreter.get_signature_runner()
    expected = {name: detail["dtype"] for name, detail in signature.get_input_details().items()}
    for row in rows:
        if set(row) != set(expected):
            raise ValueError(
                f"A calibration row holds {', '.join(sorted(expected))}. Received: {', '.join(sorted(row))}."
            )
        for name, array in row.items():
            if np.asarray(array).dtype != expected[name]:
                raise ValueError(
                    f"Calibration input {name!r} must be {np.dtype(expected[name]).name}. "
                    f"Received: {np.asarray(array).dtype.name}."
                )
        signature(**row)
        yield {index: interpreter.get_tensor(index) for index in indices}
