"""Latency of the files: one row, one thread, median and quartiles, at the sequence lengths of the given rows.

A file that takes any length is resized. The times are those of the exporting machine: they rank files and do not
predict a phone. A file that cannot be timed gives a note, never an error.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from exporters.formats.artifacts import Placed
from exporters.formats.runners import Feed
from exporters.report.report import Latency

LENGTHS = (32, 128, 512)
_WARM_UP = 3
_MIN_RUNS, _MAX_RUNS = 5, 100
_SECONDS = 0.15  # per file and length: the whole table takes some seconds


def latencies(
    placed: Iterable[Placed], rows: Callable[[str], Mapping[int, Feed]], *, own: int
) -> tuple[tuple[Latency, ...], tuple[str, ...]]:
    """Each file on the `rows` of its graph, by sequence length, and notes; `own` is the length of the files."""
    found: list[Latency] = []
    failed: dict[tuple[str, str], list[int]] = {}  # file and reason -> lengths
    for one in placed:
        feeds, started = rows(one.graph), None
        for length, feed in feeds.items():
            try:
                if length != own and not one.file.any_length:
                    raise ValueError("the file takes one length")
                if started is None or started.again is None:
                    started = one.format.start(one.file.content, feed)
                    run = started.run
                else:
                    run = started.again(feed)
                times = _times_ms(run)
            except Exception as error:  # noqa: BLE001 - the files are verified: a runtime error here must not lose them
                failed.setdefault((one.name, _first_line(error)), []).append(length)
                started = None
            else:
                first, median, third = (float(value) for value in np.percentile(times, (25, 50, 75)))
                found.append(
                    Latency(
                        file=one.name,
                        seq_len=length,
                        median_ms=median,
                        quartiles_ms=(first, third),
                        runs=len(times),
                    )
                )
        one.forget()
    notes = [
        f"{name} was not timed at {', '.join(map(str, lengths))} tokens: {reason}."
        for (name, reason), lengths in failed.items()
    ]
    return tuple(found), tuple(notes)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _times_ms(run: Callable[[], Any]) -> list[float]:
    for _ in range(_WARM_UP):
        run()
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(times) < _MIN_RUNS or (len(times) < _MAX_RUNS and time.perf_counter() < end):
        start = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - start))
    return times
