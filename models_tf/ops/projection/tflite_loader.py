"""TFLite interpreters that know the projection op: tf.lite, ai-edge-litert, tflite-runtime.

The op enters a runtime through private ABI (`tflite_op.cc`), so a version that is not in the table of
known ones first runs a tiny model in a process of its own and is refused when that fails: the
caller's process never crashes. Imports a runtime only when it is asked for; TensorFlow and
tflite-runtime cannot live in one process.
"""

import ctypes
import functools
import importlib
import importlib.metadata
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from models_tf.errors import InputError
from models_tf.ops.projection.library import library_path


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """How a TFLite runtime is imported, and the versions that the op was run with."""

    distribution: str
    module: str
    known_versions: tuple[str, ...]  # "major.minor"


# Versions enter this table after tests/parity/test_projection_tflite.py passed with them on Linux.
RUNTIMES = {
    "litert": Runtime(distribution="ai-edge-litert", module="ai_edge_litert.interpreter", known_versions=("2.3",)),
    "tensorflow": Runtime(
        distribution="tensorflow", module="tensorflow.lite.python.interpreter", known_versions=("2.20", "2.21")
    ),
    "tflite-runtime": Runtime(
        distribution="tflite-runtime", module="tflite_runtime.interpreter", known_versions=("2.14",)
    ),
}
PROBE_COMMAND = (sys.executable, "-m", "models_tf.ops.projection.tflite_probe")
PROBE_SECONDS = 120  # importing TensorFlow on a busy machine is most of it


def interpreter(model_content: bytes, runtime: str = "litert", num_threads: int = 1, **options: Any) -> Any:
    """The runtime's own Interpreter on `model_content`, with the projection op registered."""
    registered = registerers(runtime)
    module = import_interpreter(runtime)
    with warnings.catch_warnings():
        # tf.lite announces its removal on every use; the caller named this runtime on purpose.
        warnings.filterwarnings("ignore", message=".*tf.lite.Interpreter is deprecated.*")
        return module.InterpreterWithCustomOps(
            custom_op_registerers=registered, model_content=model_content, num_threads=num_threads, **options
        )


def registerers(runtime: str) -> list[Callable[[int], None]]:
    """What `InterpreterWithCustomOps(custom_op_registerers=...)` of the runtime takes."""
    check_runtime(runtime)
    return [add_to_resolver]


def installed_version(runtime: str) -> str | None:
    """Version of the runtime's distribution; None when it is not installed."""
    try:
        return importlib.metadata.version(_entry(runtime).distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def check_runtime(runtime: str) -> None:
    """Refuses a runtime that cannot take the op, with one line."""
    entry = _entry(runtime)
    version = installed_version(runtime)
    if version is None:
        raise InputError(
            f"The runtime {runtime} must be installed. Received: no distribution {entry.distribution}."
            f" Remedy: pip install {entry.distribution}."
        )
    check_company(runtime)
    # The layouts were read and run on Linux; elsewhere every version is probed.
    if sys.platform == "linux" and ".".join(version.split(".")[:2]) in entry.known_versions:
        return
    failure = _probe(runtime, version)
    if failure:
        known = ", ".join(f"{number}.*" for number in entry.known_versions)
        raise InputError(
            f"The projection op must run in {entry.distribution} {version}, a version it was not tested with. Received:"
            f" {failure}. Remedy: install {entry.distribution} {known}, or use the features-in file."
        )


def import_interpreter(runtime: str) -> Any:
    """The runtime's module that has `InterpreterWithCustomOps`."""
    return importlib.import_module(_entry(runtime).module)


def _entry(runtime: str) -> Runtime:
    if runtime not in RUNTIMES:
        raise InputError(f"`runtime` must be one of {', '.join(RUNTIMES)}. Received: {runtime!r}.")
    return RUNTIMES[runtime]


def check_company(runtime: str) -> None:
    """tflite-runtime 2.14 fails beside TensorFlow in one process, and with NumPy 2, without saying so."""
    others = {"tflite-runtime": "tensorflow", "tensorflow": "tflite_runtime"}
    other = others.get(runtime)
    if other in sys.modules:
        raise InputError(
            f"{runtime} must have a process of its own. Received: {other} is already imported."
            " Remedy: run it in a subprocess."
        )
    if runtime == "tflite-runtime":
        numpy_version = importlib.metadata.version("numpy")
        if int(numpy_version.split(".")[0]) > 1:
            raise InputError(
                f"tflite-runtime needs numpy below 2. Received: numpy {numpy_version}. Remedy: pip install 'numpy<2'."
            )


@functools.cache
def _probe(runtime: str, _version: str) -> str:
    """Empty when the op ran in a process of its own, else what went wrong. Asked once for each version."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(
            PROBE_COMMAND,
            input=runtime,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"a probe without an answer in {PROBE_SECONDS} s"
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        return f"a probe that crashed with signal {-done.returncode}"
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return f"a probe that failed ({last})"


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(library_path("tflite")))
    library.ExportMobileAddToResolver.argtypes = [ctypes.c_void_p]
    library.ExportMobileAddToResolver.restype = ctypes.c_int
    return library


def add_to_resolver(resolver: int) -> None:
    """Puts the op into the resolver at this address, unchecked; use `registerers`."""
    if _library().ExportMobileAddToResolver(resolver):
        raise MemoryError("The projection op could not be registered: out of memory.")
