"""How long a file takes, so that it can be compared with an earlier run or with another file.

Processor time on one thread, as a multiple of a fixed piece of work that is timed in turn with it: what slows the
machine for a moment slows both. Across processors the multiple means nothing, since int8 is fast on some and slow on
others: then nothing is judged.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from exporters.checking.baseline import Speed
from exporters.checking.result import Timing
from exporters.formats.runners import Outputs, RunnerError
from exporters.report.versions import cpu_name
from models_tf.errors import InputError

_TURNS, _ROUNDS = 8, 5


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Multiples of the fixed work, round by round, of the file and of the other one."""

    own: np.ndarray
    other: np.ndarray | None
    median_ms: float

    @property
    def speed(self) -> Speed:
        return Speed(cpu=cpu_name(), ratio=float(np.median(self.own)), median_ms=self.median_ms)


# Processor seconds of some rounds: of one row ("run") and of the fixed work ("yardstick").
Times: TypeAlias = Callable[[int], Outputs]


def measure(own: Times, other: Times | None) -> Measured:
    """The two files in turns."""
    multiples, others, seconds = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
    try:
        for _ in range(_TURNS):
            found = own(_ROUNDS)
            multiples.append(_multiples(found))
            seconds.append(found["run"])
            if other is not None:
                others.append(_multiples(other(_ROUNDS)))
    except RunnerError as error:
        raise InputError(f"The file must run on one row to be timed. Received: {error}.") from error
    return Measured(
        own=np.concatenate(multiples),
        other=np.concatenate(others) if others else None,
        median_ms=1000 * float(np.median(np.concatenate(seconds))),
    )


def compare(measured: Measured, before: Speed | None) -> tuple[Timing, tuple[str, ...]]:
    """The time as a multiple of the other file's, or of the baseline's; and notes."""
    if measured.other is not None:
        return _timing(measured, measured.own / measured.other), ()
    if before is None:
        return _timing(measured, None), ()
    if before.cpu != cpu_name():
        note = (
            f"Latency was not judged: the baseline is from another processor ({before.cpu}; this is {cpu_name()}). "
            "--against OTHER_FILE measures both here."
        )
        return _timing(measured, None), (note,)
    return _timing(measured, measured.own / before.ratio), ()


def _timing(measured: Measured, ratios: np.ndarray | None) -> Timing:
    if ratios is None:
        return Timing(median_ms=measured.median_ms)
    low, middle, high = (float(value) for value in np.percentile(ratios, [25, 50, 75]))
    return Timing(median_ms=measured.median_ms, ratio=middle, low=low, high=high)


def _multiples(found: Outputs) -> np.ndarray:
    return np.asarray(found["run"] / found["yardstick"])
