"""Runners: callables from features or texts to float logits, one for each runtime, from files on disk.

Inputs and outputs are bound by name, never by position; int8 outputs become float. Features are int8
[rows, time, feature], texts are a list of bytes; logits are float32 [rows, label].
Leaves out what is compared with what.
"""

import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from exporters.tensor_names import FEATURES, SIGNATURE, TEXT
from exporters.tflite_runtime_worker import RUNTIME as TFLITE_RUNTIME
from exporters.tflite_runtime_worker import pack
from models_tf.ops.projection import ort_loader, tflite_loader

LITERT = "litert"
_RUNTIME_NAMES = {LITERT: "LiteRT", TFLITE_RUNTIME: "tflite-runtime"}
# Features of one batch where the runtime takes any number of rows. Graphs hold several float copies of them, so 2**21
# are some times 8 MB.
_BATCH_VALUES = 1 << 21
_BATCH_ROWS = 32
_WORKER_SECONDS = 300

Values: TypeAlias = "np.ndarray | Sequence[bytes]"


class Runner(Protocol):
    """`takes` says which input it has: features or text."""

    name: str
    takes: str

    def __call__(self, values: Values) -> np.ndarray: ...


class RunnerError(Exception):
    """The runtime does not run the file; the message is one line."""


class KerasRunner:
    """The model as it was trained: the reference of all others."""

    name = "Keras"
    takes = FEATURES

    def __init__(self, model: Any) -> None:
        import tensorflow as tf

        self._function = tf.function(model.features_to_logits, reduce_retracing=True, autograph=False)

    def __call__(self, values: Values) -> np.ndarray:
        if not isinstance(values, np.ndarray):
            raise TypeError("Keras takes features here, not texts")
        size = batch_rows(values[0].size)
        return np.concatenate([self._function(values[i : i + size]).numpy() for i in range(0, len(values), size)])


class TfliteRunner:
    """A .tflite file in LiteRT or tflite-runtime (the latter only in a process without TensorFlow)."""

    def __init__(self, path: Path, *, takes: str, runtime: str = LITERT, signature: str = SIGNATURE) -> None:
        interpreter = tflite_interpreter(path.read_bytes(), takes=takes, runtime=runtime)
        available = interpreter.get_signature_list()
        if signature not in available:
            raise ValueError(f"{path.name} must have the signature {signature}. Received: {', '.join(available)}.")
        self._run = interpreter.get_signature_runner(signature)
        details = self._run.get_input_details()
        if list(details) != [takes]:
            raise ValueError(f"{path.name} must have one input, {takes}. Received: {', '.join(details)}.")
        self.takes, given = takes, details[takes]
        ((self._output, answer),) = self._run.get_output_details().items()
        self._batch = int(given["shape"][0]) if len(given["shape"]) else 1
        quantization: tuple[float, int] = answer["quantization"] if answer["dtype"] == np.int8 else (1.0, 0)
        self._scale, self._zero_point = quantization
        self.name = f"{path.name} on {_RUNTIME_NAMES[runtime]}"
        if signature != SIGNATURE:
            self.name += f" ({signature})"

    def __call__(self, values: Values) -> np.ndarray:
        rows = []
        for start in range(0, len(values), self._batch):
            batch = _fill(tflite_input(values[start : start + self._batch]), self._batch)
            rows.append(self._run(**{self.takes: batch})[self._output])
        logits = np.concatenate(rows)[: len(values)].astype(np.float32)
        return (logits - self._zero_point) * np.float32(self._scale)


class OnnxRunner:
    """An .onnx file in ONNX Runtime, on the CPU."""

    def __init__(self, path: Path, *, takes: str, rows: int = _BATCH_ROWS) -> None:
        session = onnx_session(path.read_bytes(), takes=takes)
        (given,), (answer,) = session.get_inputs(), session.get_outputs()
        if given.name != takes:
            raise ValueError(f"{path.name} must have the input {takes}. Received: {given.name}.")
        self.takes, self._output = takes, answer.name
        self._batch = given.shape[0] if isinstance(given.shape[0], int) else rows
        self._fixed = isinstance(given.shape[0], int)
        self._session = session
        self.name = f"{path.name} on ONNX Runtime"

    def __call__(self, values: Values) -> np.ndarray:
        rows = []
        for start in range(0, len(values), self._batch):
            batch = onnx_input(values[start : start + self._batch])
            batch = _fill(batch, self._batch) if self._fixed else batch
            rows.append(self._session.run([self._output], {self.takes: batch})[0])
        return np.concatenate(rows)[: len(values)].astype(np.float32)


class TfliteRuntimeRunner:
    """A .tflite file in tflite-runtime, through a worker process."""

    def __init__(self, path: Path, *, takes: str) -> None:
        self.takes = takes
        self.name = f"{path.name} on {_RUNTIME_NAMES[TFLITE_RUNTIME]}"
        self._path = path

    @staticmethod
    def installed() -> bool:
        return tflite_loader.installed_version(TFLITE_RUNTIME) is not None

    def __call__(self, values: Values) -> np.ndarray:
        command = [sys.executable, "-m", "exporters.tflite_runtime_worker", str(self._path), self.takes]
        done = subprocess.run(
            command, input=pack(values), capture_output=True, timeout=_WORKER_SECONDS, check=False, cwd=_import_root()
        )
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise RunnerError(f"{self.name}: {lines[-1] if lines else f'the process ended with {done.returncode}'}")
        return np.load(io.BytesIO(done.stdout), allow_pickle=False)


def batch_rows(row_values: int) -> int:
    """Rows of a batch for rows of so many values."""
    return max(1, min(_BATCH_ROWS, _BATCH_VALUES // row_values))


def tflite_interpreter(content: bytes, *, takes: str, runtime: str = LITERT, threads: int = 1) -> Any:
    """Text-in files get the projection op; features-in files must do without, which this proves."""
    if takes == TEXT:
        return tflite_loader.interpreter(content, runtime=runtime, num_threads=threads)
    tflite_loader.check_company(runtime)
    return tflite_loader.import_interpreter(runtime).Interpreter(model_content=content, num_threads=threads)


def onnx_session(content: bytes, *, takes: str, threads: int = 1) -> Any:
    """As `tflite_interpreter`, for ONNX Runtime."""
    import onnxruntime

    if takes == TEXT:
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
    return Path(__file__).resolve().parents[1]
