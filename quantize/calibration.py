"""Calibration: runs a float TFLite model over example rows and records the range of every activation.

The result, `CalibrationRanges`, is a plain value: it can be written to JSON, read back, and single tensors
can be overridden (an exact integer input, an attention mask) before a quantizer uses it. Which format is
quantized afterwards does not matter; how ranges become scales is decided by the quantizers.
"""

import dataclasses
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quantize import flatbuffer

METHODS = ("min-max", "percentile")
# `percentile` leaves out the rows with the most extreme values, not values inside of a row: it costs two
# numbers for each row and tensor, and a single odd row no longer decides the step of a tensor.
ROW_PERCENTILE = 99.0

Rows = Iterable[Mapping[str, np.ndarray]]


@dataclass(frozen=True, kw_only=True)
class CalibrationRanges:
    """Smallest and largest value of each tensor, by tensor name."""

    ranges: Mapping[str, tuple[float, float]]
    row_count: int
    method: str = "min-max"

    def __post_init__(self) -> None:
        if self.row_count < 1:
            raise ValueError(f"Calibration needs at least one row. Received: {self.row_count}.")
        if self.method not in METHODS:
            raise ValueError(f"`method` must be one of {', '.join(METHODS)}. Received: {self.method!r}.")
        for name, (low, high) in self.ranges.items():
            if not (np.isfinite(low) and np.isfinite(high) and low <= high):
                raise ValueError(f"The range of tensor {name!r} must be finite and ordered. Received: {(low, high)}.")

    def override(self, changes: Mapping[str, tuple[float, float]]) -> "CalibrationRanges":
        """The same ranges with some replaced; a name that was not calibrated is an error."""
        unknown = sorted(set(changes) - set(self.ranges))
        if unknown:
            raise ValueError(f"Only calibrated tensors can be overridden. Received: {', '.join(unknown)}.")
        return dataclasses.replace(self, ranges={**self.ranges, **changes})

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self) | {"ranges": {k: list(v) for k, v in self.ranges.items()}}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "CalibrationRanges":
        values = json.loads(text)
        fields = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(values, dict) or set(values) != fields:
            raise ValueError(f"Calibration ranges hold {', '.join(sorted(fields))}. Received: {text[:80]!r}.")
        values["ranges"] = {name: (float(low), float(high)) for name, (low, high) in values["ranges"].items()}
        return cls(**values)


def calibrate(float_model: bytes, rows: Rows, *, method: str = "min-max", threads: int = 1) -> CalibrationRanges:
    """Ranges of all float activations of the first subgraph over the rows.

    A row maps the names of the signature's inputs to arrays (never by position: swapped inputs give ranges that
    look right and are not).
    """
    names = _activation_names(float_model)
    return collect(
        (
            {names[index]: array for index, array in values.items()}
            for values in _run(float_model, rows, names, threads)
        ),
        method=method,
    )


def collect(rows: Iterable[Mapping[str, np.ndarray]], *, method: str) -> CalibrationRanges:
    """Ranges from the activations of each row; memory grows by two numbers a row and tensor."""
    if method not in METHODS:
        raise ValueError(f"`method` must be one of {', '.join(METHODS)}. Received: {method!r}.")
    lows: dict[str, list[float]] = {}
    highs: dict[str, list[float]] = {}
    row_count = 0
    for values in rows:
        row_count += 1
        for name, array in values.items():
            lows.setdefault(name, []).append(float(array.min()))
            highs.setdefault(name, []).append(float(array.max()))
    if not row_count:
        raise ValueError("Calibration needs at least one row. Received: none.")
    outer = ROW_PERCENTILE if method == "percentile" else 100.0
    ranges = {
        name: (float(np.percentile(lows[name], 100.0 - outer)), float(np.percentile(highs[name], outer)))
        for name in lows
    }
    return CalibrationRanges(ranges=ranges, row_count=row_count, method=method)


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
