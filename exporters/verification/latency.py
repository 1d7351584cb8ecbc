"""Latency of the files: one row, one thread, median, at the sequence lengths of the rows given.

For a length other than the file's own a copy of the features-in graph is made in memory (`other_length.py`). This is the
time of the machine that exports. It ranks files; it is no phone's. What cannot be timed is a note, never an error.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from exporters.formats import other_length
from exporters.formats.artifacts import Artifact
from exporters.formats.runners import Feed, onnx_input, onnx_session, tflite_input, tflite_interpreter
from exporters.formats.tensor_names import FEATURES
from exporters.report.report import Latency

LENGTHS = (32, 128, 512)
_WARM_UP = 3
_MIN_RUNS, _MAX_RUNS = 5, 100
_SECONDS = 0.15  # for one file and length: the whole table costs some seconds


def latencies(
    artifacts: Iterable[Artifact], rows: Callable[[Artifact], Mapping[int, Feed]], *, own: int
) -> tuple[tuple[Latency, ...], tuple[str, ...]]:
    """Each file on the `rows` for it, by sequence length; `own` is the length of the files. And notes."""
    found: list[Latency] = []
    failed: dict[tuple[str, str], list[int]] = {}  # file and reason -> lengths
    for artifact in artifacts:
        feeds = rows(artifact)
        for length in feeds:
            try:
                median, runs = _median_ms(_runner(artifact, feeds, length, own))
            except Exception as error:  # noqa: BLE001 - the files are verified: no trouble of a runtime here may lose them
                failed.setdefault((artifact.name, _first_line(error)), []).append(length)
            else:
                found.append(Latency(file=artifact.name, seq_len=length, median_ms=median, runs=runs))
    notes = [
        f"{name} was not timed at {', '.join(map(str, lengths))} tokens: {reason}."
        for (name, reason), lengths in failed.items()
    ]
    return tuple(found), tuple(notes)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _median_ms(run: Callable[[], Any]) -> tuple[float, int]:
    for _ in range(_WARM_UP):
        run()
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(times) < _MIN_RUNS or (len(times) < _MAX_RUNS and time.perf_counter() < end):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times)), len(times)


def _runner(artifact: Artifact, feeds: Mapping[int, Feed], length: int, own: int) -> Callable[[], Any]:
    if length == own:
        return _start(artifact.content, artifact, feeds[own])[0]
    reason: Exception | None = None
    expected = _start(artifact.content, artifact, feeds[own])[1]
    for content in other_length.copies(artifact.content, target=artifact.target, own=own, length=length):
        try:
            run, shapes = _start(content, artifact, feeds[length])
        except Exception as error:  # noqa: BLE001 - time on a wrong axis: each runtime has its own errors for that
            reason = reason or error
            continue
        if shapes == expected:
            return run
    raise ValueError("no copy of the graph has this length") from reason


def _start(content: bytes, artifact: Artifact, feed: Feed) -> tuple[Callable[[], Any], list[tuple[int, ...]]]:
    """A function that runs the graph on the row, and the shapes of its outputs."""
    if artifact.target == "onnx":
        session, given = onnx_session(content, inputs=feed), {name: onnx_input(row) for name, row in feed.items()}

        def run() -> Any:
            return session.run(None, given)

        return run, [value.shape for value in run()]
    interpreter = tflite_interpreter(content, inputs=feed)
    rows = {name: tflite_input(row) for name, row in feed.items()}
    indices = {detail["name"]: detail["index"] for detail in interpreter.get_input_details()}
    for name, row in rows.items():
        if name == FEATURES:
            interpreter.resize_tensor_input(indices[name], row.shape)
    interpreter.allocate_tensors()
    for name, row in rows.items():
        interpreter.set_tensor(indices[name], row)
    interpreter.invoke()
    outputs = [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
    return interpreter.invoke, [value.shape for value in outputs]
