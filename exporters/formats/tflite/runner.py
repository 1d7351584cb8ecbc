"""Runners of .tflite files: LiteRT in this process, tflite-runtime in its own. int8 outputs become float."""

import io
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exporters.formats.runners import (
    PADDED,
    Feed,
    Outputs,
    RunnerError,
    Values,
    check_inputs,
    fill,
    in_batches,
    widened,
)
from exporters.formats.tensor_names import SIGNATURE
from exporters.formats.texts import as_bytes, holds_projection
from exporters.formats.tflite.runtime_worker import RUNTIME as TFLITE_RUNTIME
from exporters.formats.tflite.runtime_worker import request
from models_tf.ops.projection import tflite_loader
from models_tf.processes import tied

LITERT = "litert"
_RUNTIME_NAMES = {LITERT: "LiteRT", TFLITE_RUNTIME: "tflite-runtime"}
_WORKER_SECONDS = 300


class TfliteRunner:
    """A .tflite file in LiteRT or tflite-runtime (the latter only in a process without TensorFlow)."""

    def __init__(
        self,
        content: bytes,
        *,
        name: str,
        inputs: tuple[str, ...],
        runtime: str = LITERT,
        signature: str = SIGNATURE,
        padded: bool = False,
    ) -> None:
        interpreter = make_interpreter(content, runtime=runtime)
        available = interpreter.get_signature_list()
        if signature not in available:
            raise ValueError(f"{name} must have the signature {signature}. Received: {', '.join(available)}.")
        self._run = interpreter.get_signature_runner(signature)
        details = self._run.get_input_details()
        check_inputs(name, inputs, details)
        self.inputs, self._details = inputs, details
        shape = details[inputs[0]]["shape"]
        self._batch = int(shape[0]) if len(shape) else 1
        self._any_length = not padded and all(_takes_any_length(detail) for detail in details.values())
        self._timed = [output for output, detail in self._run.get_output_details().items() if _takes_any_length(detail)]
        self._quantization: dict[str, tuple[float, int]] = {
            output: answer["quantization"] if answer["dtype"] == np.int8 else (1.0, 0)
            for output, answer in self._run.get_output_details().items()
        }
        self.name = f"{name} on {_RUNTIME_NAMES[runtime]}"
        if signature != SIGNATURE:
            self.name += f" ({signature})"
        elif padded:
            self.name += PADDED

    def __call__(self, feed: Feed) -> Outputs:
        given = {name: feed[name] for name in self.inputs}
        return in_batches(given, self._batch_of, size=self._batch, any_length=self._any_length, timed=self._timed)

    def _batch_of(self, batch: Feed) -> Outputs:
        given = {name: as_input(values, self._details[name]) for name, values in batch.items()}
        answers = self._run(**{name: fill(values, self._batch) for name, values in given.items()})
        return {
            name: (value.astype(np.float32) - zero_point) * np.float32(scale)
            for name, value in answers.items()
            for scale, zero_point in [self._quantization[name]]
        }


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
        done = subprocess.run(
            tied([sys.executable, "-m", "exporters.formats.tflite.runtime_worker"]),
            input=request(self._path, {name: feed[name] for name in self.inputs}),
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


def make_interpreter(content: bytes, *, runtime: str = LITERT, threads: int = 1, **options: Any) -> Any:
    """Files that hold the projection op get it; all others must run without it, which this proves."""
    if holds_projection(content):
        return tflite_loader.interpreter(content, runtime=runtime, num_threads=threads, **options)
    tflite_loader.check_company(runtime)
    module = tflite_loader.import_interpreter(runtime)
    return module.Interpreter(model_content=content, num_threads=threads, **options)


def _takes_any_length(detail: Mapping[str, Any]) -> bool:
    """Whether the size behind that of the rows is open, while the shape says how long it is at most."""
    sizes = detail["shape_signature"]
    return len(sizes) > 1 and sizes[1] == -1 and sizes[0] != -1


def as_input(values: Values, detail: Mapping[str, Any]) -> np.ndarray:
    """Texts as the input takes them, by what the runtime says of it: as bytes, or as strings, for which TFLite's Python
    interface wants dtype object, since numpy's byte strings lose trailing NULs.
    """
    if isinstance(values, np.ndarray):
        return widened(values, detail["dtype"])
    if detail["dtype"] == np.uint8:
        return as_bytes(values, int(detail["shape"][-1]))
    return np.array([*values, b""], object)[:-1]


def _import_root() -> Path:
    """Where the packages are: the worker must find the same ones from any current folder."""
    return Path(__file__).resolve().parents[3]
