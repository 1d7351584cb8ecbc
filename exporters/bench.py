"""Latency of the files: one row, one thread, median, at several sequence lengths.

For a length other than the file's own a copy of the features-in graph is made in memory (`other_length.py`). This is the
time of the machine that exports. It ranks files; it is no phone's. What cannot be timed is a note, never an error.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from exporters import other_length
from exporters.artifacts import Artifact
from exporters.report import Latency
from exporters.runners import Values, onnx_input, onnx_session, tflite_input, tflite_interpreter
from exporters.tensor_names import FEATURES
from models_tf.ops.projection.config import ProjectionConfig

LENGTHS = (32, 128, 512)
_WARM_UP = 3
_MIN_RUNS, _MAX_RUNS = 5, 100
_SECONDS = 0.15  # for one file and length: the whole table costs some seconds


def latencies(
    artifacts: Iterable[Artifact], *, config: ProjectionConfig, text: bytes
) -> tuple[tuple[Latency, ...], tuple[str, ...]]:
    """Features-in files at `LENGTHS` and their own length, text-in files at their own, on `text`; and notes."""
    rows: list[Latency] = []
    failed: dict[tuple[str, str], list[int]] = {}  # file and reason -> lengths
    for artifact in artifacts:
        for length in sorted({*LENGTHS, config.pad_to}) if artifact.graph == FEATURES else [config.pad_to]:
            try:
                median, runs = _median_ms(_runner(artifact, config, length, text))
            except Exception as error:  # noqa: BLE001 - the files are verified: no trouble of a runtime here may lose them
                failed.setdefault((artifact.name, _first_line(error)), []).append(length)
            else:
                rows.append(Latency(file=artifact.name, seq_len=length, median_ms=median, runs=runs))
    notes = [
        f"{name} was not timed at {', '.join(map(str, lengths))} tokens: {reason}."
        for (name, reason), lengths in failed.items()
    ]
    return tuple(rows), tuple(notes)


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


def _runner(artifact: Artifact, config: ProjectionConfig, length: int, text: bytes) -> Callable[[], Any]:
    own, takes = config.pad_to, artifact.graph
    row: Values = [text] if takes != FEATURES else _features(length, config.feature_size)
    if length == own:
        return _start(artifact.content, artifact, row)[0]
    reason: Exception | None = None
    expected = _start(artifact.content, artifact, _features(own, config.feature_size))[1]
    for content in other_length.copies(artifact.content, target=artifact.target, own=own, length=length):
        try:
            run, shape = _start(content, artifact, row)
        except Exception as error:  # noqa: BLE001 - time on a wrong axis: each runtime has its own errors for that
            reason = reason or error
            continue
        if shape == expected:
            return run
    raise ValueError("no copy of the graph has this length") from reason


def _start(content: bytes, artifact: Artifact, row: Values) -> tuple[Callable[[], Any], tuple[int, ...]]:
    """A function that runs the graph on the row, and the shape of its logits."""
    takes = artifact.graph
    if artifact.target == "onnx":
        session, given = onnx_session(content, takes=takes), {takes: onnx_input(row)}

        def run() -> Any:
            return session.run(None, given)

        return run, run()[0].shape
    interpreter = tflite_interpreter(content, takes=takes)
    values, index = tflite_input(row), interpreter.get_input_details()[0]["index"]
    if takes == FEATURES:
        interpreter.resize_tensor_input(index, values.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(index, values)
    interpreter.invoke()
    return interpreter.invoke, interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).shape


def _features(length: int, feature_size: int) -> np.ndarray:
    """Random ternary rows, all of them real tokens."""
    features = np.random.default_rng(0).integers(-1, 2, (1, length, feature_size), dtype=np.int8)
    features[:, :, 0] = 1
    return features
