"""What calibration found: the range of every activation of a float model, as a value that both formats share.

Single tensors can be overridden (an exact integer input, a mask) before a quantizer uses the ranges. Leaves out how the
rows are run (`tflite/calibrate.py`, `onnx/calibrate.py`) and how ranges become scales, which the quantizers decide.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from quantize.arrays import Array
from quantize.errors import RecipeError

# Of an activation: its scale, and a million times that, are numbers of float32.
LARGEST = 1e30

Rows = Iterable[Mapping[str, Array]]


@dataclass(frozen=True, kw_only=True)
class CalibrationRanges:
    """Smallest and largest value of each tensor, by tensor name.

    `row_peaks`: for what a softmax reads, the smallest of all maxima along the last axis; values far below it do not
    matter to any result. `channels`: for what dense layers read and make, the smallest and largest value at each
    position of the last axis, [2, channel].
    """

    ranges: Mapping[str, tuple[float, float]]
    row_count: int
    row_peaks: Mapping[str, float] = field(default_factory=dict)
    channels: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.row_count < 1:
            raise ValueError(f"Calibration needs at least one row. Received: {self.row_count}.")
        for name, (low, high) in self.ranges.items():
            if not -LARGEST <= low <= high <= LARGEST:  # nor is NaN
                raise RecipeError(
                    f"Recipes with calibrated activations need finite values from -{LARGEST:g} to {LARGEST:g} in every "
                    f"tensor. Received: {low:g} to {high:g} in {name!r}, which weights of extreme size make."
                )
        for name, peak in self.row_peaks.items():
            low, high = self.ranges.get(name, (np.inf, -np.inf))
            if not low <= peak <= high:
                raise ValueError(f"The row peak of tensor {name!r} must lie in its range. Received: {peak}.")
        for name, found in self.channels.items():
            if found.ndim != 2 or len(found) != 2 or not np.isfinite(found).all() or np.any(found[0] > found[1]):
                raise RecipeError(
                    f"The channels of tensor {name!r} must have finite, ordered ranges. Received: {found}."
                )

    def override(self, changes: Mapping[str, tuple[float, float]]) -> "CalibrationRanges":
        """The same ranges with some replaced; a name that was not calibrated is an error."""
        unknown = sorted(set(changes) - set(self.ranges))
        if unknown:
            raise ValueError(f"Only calibrated tensors can be overridden. Received: {', '.join(unknown)}.")
        peaks = {name: peak for name, peak in self.row_peaks.items() if name not in changes}
        channels = {name: found for name, found in self.channels.items() if name not in changes}
        return dataclasses.replace(self, ranges={**self.ranges, **changes}, row_peaks=peaks, channels=channels)


class RangeCollector:
    """Collects ranges row by row; memory does not grow with the rows."""

    def __init__(self) -> None:
        self._ranges: dict[str, tuple[float, float]] = {}
        self._peaks: dict[str, float] = {}
        self._channels: dict[str, Array] = {}
        self.row_count = 0

    def add(self, name: str, low: float, high: float, peak: float | None = None) -> None:
        before = self._ranges.get(name, (low, high))
        # The comparison of `min` would lose a NaN, which must be refused.
        self._ranges[name] = (float(np.minimum(before[0], low)), float(np.maximum(before[1], high)))
        if peak is not None:
            self._peaks[name] = float(np.minimum(self._peaks.get(name, peak), peak))

    def add_channels(self, name: str, values: Array) -> None:
        flat = values.reshape(-1, values.shape[-1])
        low, high = flat.min(0), flat.max(0)
        before = self._channels.get(name, (low, high))
        self._channels[name] = np.stack((np.minimum(before[0], low), np.maximum(before[1], high)))

    def result(self) -> CalibrationRanges:
        if not self.row_count:
            raise ValueError("Calibration needs at least one row. Received: none.")
        return CalibrationRanges(
            ranges=self._ranges, row_count=self.row_count, row_peaks=self._peaks, channels=self._channels
        )


def collect(rows: Iterable[Mapping[str, Array]]) -> CalibrationRanges:
    """Ranges from the activations of each row."""
    collector = RangeCollector()
    for values in rows:
        collector.row_count += 1
        for name, array in values.items():
            collector.add(name, float(array.min()), float(array.max()))
    return collector.result()


def required(ranges: CalibrationRanges | None) -> CalibrationRanges:
    """The ranges, for a recipe that cannot do without."""
    if ranges is None:
        raise ValueError("A static recipe needs calibration rows. Received: none.")
    return ranges
