"""Runners: callables from named inputs to named float outputs, one for each runtime, from files on disk.

Inputs and outputs are bound by name, never by position; int8 outputs become float, each with its own scale. An input is
an array [rows, ...] or, for texts, a list of bytes; an output is float32 [rows, ...].
Leaves out what is compared with what.
"""

import io
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from exporters.formats.tensor_names import SIGNATURE, TEXT
from exporters.formats.tflite.runtime_worker import RUNTIME as TFLITE_RUNTIME
from exporters.formats.tflite.runtime_worker import pack
from models_tf.ops.projection import ort_loader, tflite_loader

LITERT = "litert"
_RUNTIME_NAMES = {LITERT: "LiteRT", TFLITE_RUNTIME: "tflite-runtime"}
# Values of one input in a batch, where the runtime takes any number of rows. Graphs hold several float copies of the
# features, so 2**21 are some times 8 MB.
_BATCH_VALUES = 1 << 21
_BATCH_ROWS = 32
_WORKER_SECONDS = 300

Values: TypeAlias = "np.ndarray | Sequence[bytes]"
Feed: TypeAlias = Mapping[str, Values]
Outputs: TypeAlias = dict[str, np.ndarray]


class Runner(Protocol):
    """`inputs` are the names that it reads; a feed may hold more."""

    name: str
    inputs: tuple[str, ...]

    def __call__(self, feed: Feed) -> Outputs: ...


class RunnerError(Exception):
    """The runtime does not run the file; the message is one line."""


class KerasRunner:
    """The model as it was trained: the reference of all others. `function` takes and gives tensors by name."""

    name = "Keras"

    def __init__(self, function: Callable[..., Any], *, inputs: tuple[str, ...], rows: int | None = None) -> None:
        """`rows` of a batch; None decides by their size."""
        import tensorflow as tf

        self.inputs, self._batch = inputs, rows
        self._function = tf.function(function, reduce_retracing=True, autograph=False)

    def __call__(self, feed: Feed) -> Outputs:
        values = {name: np.asarray(feed[name]) for name in self.inputs}
        count = _rows(feed, self.inputs)
        size = self._batch or batch_rows(max(value[0].size for value in values.values()))
        parts = [
            {name: value.numpy() for name, value in self._function(**_slice(values, start, size)).items()}
            for start in range(0, count, size)
        ]
        return joined(parts)


class TfliteRunner:
    """A .tflite file in LiteRT or tflite-runtime (the latter only in a process without TensorFlow)."""

    def __init__(
        self, path: Path, *, inputs: tuple[str, ...], runtime: str = LITERT, signature: str = SIGNATURE
    ) -> None:
        interpreter = tflite_interpreter(path.read_bytes(), inputs=inputs, runtime=runtime)
        available = interpreter.get_signature_list()
        if signature not in available:
            raise ValueError(f"{path.name} must have the signature {signature}. Received: {', '.join(available)}.")
        self._run = interpreter.get_signature_runner(signature)
        details = self._run.get_input_details()
        _check_inputs(path.name, inputs, details)
        self.inputs = inputs
        shapes = [details[name]["shape"] for name in inputs]
        self._batch = int(shapes[0][0]) if len(shapes[0]) else 1
        self._quantization: dict[str, tuple[float, int]] = {
            name: answer["quantization"] if answer["dtype"] == np.int8 else (1.0, 0)
            for name, answer in self._run.get_output_details().items()
        }
        self.name = f"{path.name} on {_RUNTIME_NAMES[runtime]}"
        if signature != SIGNATURE:
            self.name += f" ({signature})"

    def __call__(self, feed: Feed) -> Outputs:
        count, parts = _rows(feed, self.inputs), []
        for start in range(0, count, self._batch):
            batch = {
                name: _fill(tflite_input(values), self._batch)
                for name, values in _slice({name: feed[name] for name in self.inputs}, start, self._batch).items()
            }
            parts.append(self._run(**batch))
        return {
            name: (value[:count].astype(np.float32) - zero_point) * np.float32(scale)
            for name, value in joined(parts).items()
            for scale, zero_point in [self._quantization[name]]
        }


class OnnxRunner:
    """An .onnx file in ONNX Runtime, on the CPU."""

    def __init__(self, path: Path, *, inputs: tuple[str, ...], rows: int = _BATCH_ROWS) -> None:
        session = onnx_session(path.read_bytes(), inputs=inputs)
        given = {value.name: value.shape for value in session.get_inputs()}
        _check_inputs(path.name, inputs, given)
        self.inputs, self._outputs = inputs, [value.name for value in session.get_outputs()]
        first = given[inputs[0]][0]
        self._fixed = isinstance(first, int)
        self._batch = first if self._fixed else rows
        self._session = session
        self.name = f"{path.name} on ONNX Runtime"

    def __call__(self, feed: Feed) -> Outputs:
        count, parts = _rows(feed, self.inputs), []
        for start in range(0, count, self._batch):
            values = _slice({name: feed[name] for name in self.inputs}, start, self._batch)
            batch = {name: onnx_input(value) for name, value in values.items()}
            if self._fixed:
                batch = {name: _fill(value, self._batch) for name, value in batch.items()}
            parts.append(dict(zip(self._outputs, self._session.run(self._outputs, batch), strict=True)))
        return {name: value[:count].astype(np.float32) for name, value in joined(parts).items()}


class TfliteRuntimeRunner:
    """A .tflite file in tflite-runtime, through a worker process."""

    def __init__(self, path: Path, *, inputs: tuple[str, ...]) -> None:
        self.inputs = inputs
        self.name = f"{path.name} on {_RUNTIME_NAMES[TFLITE_RUNTIME]}"
        self._path = path

    @staticmethod
    def installed() -> bool:
        return tflite_loader.installed_version(TFLITE_RUNTIME) is not None

    def __call__(self, feed: Feed) -> Outputs:
        command = [
            sys.executable,
            "-m",
            "exporters.formats.tflite.runtime_worker",
            str(self._path),
            ",".join(self.inputs),
        ]
        done = subprocess.run(
            command,
            input=pack({name: feed[name] for name in self.inputs}),
            capture_output=True,
            timeout=_WORKER_SECONDS,
            check=False,
            cwd=_import_root(),
        )
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise RunnerError(f"{self.name}: {lines[-1] if lines else f'the process ended with {done.returncode}'}")
        with np.load(io.BytesIO(done.stdout), allow_pickle=False) as arrays:
            return dict(arrays)


def joined(parts: Sequence[Outputs]) -> Outputs:
    """The rows of all parts."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _rows(feed: Feed, inputs: tuple[str, ...]) -> int:
    return len(feed[inputs[0]])


def _slice(feed: Feed, start: int, size: int) -> dict[str, Values]:
    return {name: values[start : start + size] for name, values in feed.items()}


def _check_inputs(file: str, expected: tuple[str, ...], given: Iterable[str]) -> None:
    if set(given) != set(expected):
        raise ValueError(f"{file} must have the inputs {', '.join(expected)}. Received: {', '.join(given)}.")


def batch_rows(row_values: int) -> int:
    """Rows of a batch for rows of so many values."""
    return max(1, min(_BATCH_ROWS, _BATCH_VALUES // row_values))


def tflite_interpreter(content: bytes, *, inputs: Iterable[str], runtime: str = LITERT, threads: int = 1) -> Any:
    """Text-in files get the projection op; all others must do without, which this proves."""
    if TEXT in inputs:
        return tflite_loader.interpreter(content, runtime=runtime, num_threads=threads)
    tflite_loader.check_company(runtime)
    return tflite_loader.import_interpreter(runtime).Interpreter(model_content=content, num_threads=threads)


def onnx_session(content: bytes, *, inputs: Iterable[str], threads: int = 1) -> Any:
    """As `tflite_interpreter`, for ONNX Runtime."""
    import onnxruntime

    if TEXT in inputs:
        options = ort_loader.session_options_with_projection(num_threads=threads)
    else:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # its warnings go to the user's terminal
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def tflite_input(values: Values) -> np.ndarray:
    """Texts as TFLite's Python interface takes them: dtype object, for numpy's own byte strings lose NULs at the end."""
    return values if isinstance(values, np.ndarray) else np.array([*values, b""], object)[:-1]


def onnx_input(values: Values) -> np.ndarray:
    """Texts as ONNX Runtime takes them: of bytes it would print the Python form, b'...'."""
    return (
        values if isinstance(values, np.ndarray) else np.array([*(text.decode() for text in values), ""], object)[:-1]
    )


def _fill(batch: np.ndarray, size: int) -> np.ndarray:
    """A graph of fixed batch size takes full batches only."""
    missing = size - len(batch)
    return np.concatenate([batch, np.repeat(batch[-1:], missing, axis=0)]) if missing else batch


def _import_root() -> Path:
    """Where the packages lie: the worker must find the same ones, whatever the current folder is."""
    return Path(__file__).resolve().parents[2]
