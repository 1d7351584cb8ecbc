"""Runs TFLite's official benchmark_model on a phone over adb: push, run in turns, read its output, clean up.

Neither adb nor the binary comes with this package. What is missing is one line. Files get names of our own on the
phone, and what else reaches its shell is quoted.
"""

import contextlib
import dataclasses
import secrets
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from exporters.benchmarking import benchmark_model, inputs
from exporters.benchmarking.benchmark_model import Parsed
from exporters.benchmarking.request import MIN_ROUNDS, BenchRequest
from exporters.benchmarking.result import FileBench, facts
from exporters.benchmarking.statistics import Times, summarize
from exporters.formats.model_file import TensorInfo
from exporters.formats.tensor_names import TEXT, plain_name
from exporters.formats.texts import as_bytes, holds_projection, takes_bytes
from exporters.formats.tflite.file import TfliteFile
from models_tf.errors import InputError
from models_tf.folders.real_path import real_path

FOLDER = "/data/local/tmp"
SECONDS = 600.0
_CALLS = 50  # of the binary for each run, its default
BINARY_HELP = "TFLite's benchmark_model for Android, from the LiteRT or TensorFlow site"


class Adb:
    """The `adb` program, and the phone behind it."""

    def __init__(self, program: str) -> None:
        self._program = program

    def __call__(self, *arguments: object) -> tuple[int, str]:
        """Exit code and all output of a call."""
        try:
            done = subprocess.run(
                [self._program, *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise InputError(f"adb {arguments[0]} must end. Received: no answer in {SECONDS:g} seconds.") from error
        except OSError as error:
            raise InputError(f"adb must be a program. Received: {self._program} ({error.strerror}).") from error
        return done.returncode, done.stdout.decode(errors="replace").replace("\r", "")

    def done(self, *arguments: object) -> str:
        """The output of a call that must succeed."""
        code, output = self(*arguments)
        if code:
            raise InputError(f"adb {arguments[0]} must succeed. Received: {benchmark_model.error_line(output)}.")
        return output

    def name(self) -> str:
        """The phone and its Android."""
        model, release = (
            self.done("shell", "getprop", key).strip() for key in ("ro.product.model", "ro.build.version.release")
        )
        return f"{model or 'unknown phone'}, Android {release or '?'}"


def connect(request: BenchRequest) -> Adb:
    """The phone, or one line with everything that is missing."""
    program, binary, missing = shutil.which("adb"), request.benchmark_binary, list[str]()
    if program is None:
        missing.append("adb on PATH (Android's platform-tools)")
    if binary is None:
        missing.append(f"--benchmark-binary FILE ({BINARY_HELP})")
    elif not binary.is_file():
        missing.append(f"the file of --benchmark-binary {binary}")
    if program is not None:
        code, state = Adb(program)("get-state")
        if code or state.strip() != "device":
            said = benchmark_model.error_line(state).removeprefix("error: ")
            missing.append(f"a connected phone (adb get-state: {said}; of several, ANDROID_SERIAL picks one)")
    if missing or program is None:
        raise InputError(f"--adb needs adb, a phone and the official binary. Missing: {'; '.join(missing)}.")
    return Adb(program)


def measure(request: BenchRequest, files: Mapping[Path, TfliteFile], adb: Adb) -> list[FileBench]:
    """All files in turn, for each round one run of the binary. A time is the median of such a run."""
    flags = [_flags(request, files[path]) for path in request.files]
    texts = [_text(request, files[path]) for path in request.files]
    outputs: list[list[str]] = [[] for _ in request.files]
    runs: list[list[Parsed]] = [[] for _ in request.files]
    with _folder(adb) as folder:
        binary = f"{folder}/benchmark_model"
        adb.done("push", _absolute(request.benchmark_binary), binary)
        adb.done("shell", "chmod", "755", binary)
        for number, path in enumerate(request.files):
            adb.done("push", _absolute(path), f"{folder}/{number}.tflite")
            if texts[number]:
                _push(adb, texts[number], f"{folder}/{number}.bytes")
                flags[number].append(f"--input_layer_value_files={TEXT}:{folder}/{number}.bytes")
        commands = [[*map(shlex.quote, own)] for own in flags]
        end = time.monotonic() + request.seconds
        for turn in range(request.rounds):
            if turn >= MIN_ROUNDS and time.monotonic() >= end:
                break
            for step in range(len(commands)):
                index = (turn + step) % len(commands)
                code, output = adb("shell", binary, f"--graph={folder}/{index}.tflite", *commands[index])
                parsed = benchmark_model.parse(output)
                if code or parsed is None:
                    raise InputError(
                        f"{request.files[index]} must be a file that the phone's benchmark_model can run. "
                        f"Received: {benchmark_model.error_line(output).rstrip('.')}."
                    )
                outputs[index].append(output)
                runs[index].append(parsed)
    return [
        FileBench(**facts(path, files[path], request.signature), **_times(own, "".join(said)))
        for path, own, said in zip(request.files, runs, outputs, strict=True)
    ]


def _times(runs: Sequence[Parsed], output: str) -> dict[str, Any]:
    def summarized(name: str) -> Times:
        return summarize([1000 * getattr(run, name) for run in runs])

    peaks = [run.peak_bytes for run in runs if run.peak_bytes is not None]
    return {
        "runtime": "benchmark_model",
        "inputs": (),
        "load_ms": summarized("init_us").median_ms,
        "load_cpu_ms": None,
        "first_ms": summarized("first_us").median_ms,
        "first_cpu_ms": None,
        "warm_up": summarized("warm_up_us"),
        "wall": summarized("median_us"),
        "cpu": None,
        "wall_rounds_ms": tuple(run.median_us / 1000 for run in runs),
        "cpu_rounds_ms": None,
        "peak_bytes": max(peaks) if peaks else None,
        "lines": output,
    }


@contextlib.contextmanager
def _folder(adb: Adb) -> Iterator[str]:
    folder = f"{FOLDER}/export-mobile-{secrets.token_hex(4)}"
    adb.done("shell", "mkdir", folder)
    try:
        yield folder
    finally:
        adb("shell", "rm", "-rf", folder)


def _text(request: BenchRequest, file: TfliteFile) -> bytes:
    """What a file that takes the bytes of a text is fed with; none for others."""
    infos = file.run_order(request.signature)[1]
    if len(infos) != 1 or not takes_bytes(infos[0]):
        return b""
    return as_bytes([request.text.encode()], inputs.size_of(infos[0], request.shapes)[1]).tobytes()


def _push(adb: Adb, content: bytes, target: str) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        adb.done("push", file.name, target)


def _absolute(path: Path | None) -> Path:
    """So that no file name looks like a flag."""
    return Path() if path is None else real_path(path)


def _flags(request: BenchRequest, file: TfliteFile) -> list[str]:
    found = [f"--num_threads={request.threads}", f"--num_runs={_CALLS}"]
    signature, infos = file.run_order(request.signature)
    if signature is not None and len(file.signatures) > 1:  # it asks for one then
        found.append(f"--signature_to_run_for={signature}")
    if holds_projection(file.content):
        raise InputError(
            f"The official binary does not know the projection op: give the bytes-in file. Received: {file.name}."
        )
    return [*found, *layer_flags(infos, request.shapes)]


def layer_flags(infos: Sequence[TensorInfo], requested: Mapping[str, Sequence[int]]) -> list[str]:
    """Shapes, and ranges of ids: by itself the binary would make segments up to 99, beyond their table. It goes by the
    order of the inputs; names with the commas and colons that separate its lists get others.
    """
    if not infos:
        return []
    plain = [dataclasses.replace(info, name=plain_name(info.name)) for info in infos]
    names = [info.name for info in plain]
    if not all(names) or len({*names}) < len(names) or any("," in name for name in names):
        names = [f"input_{number}" for number, _ in enumerate(names, 1)]
    shapes = [inputs.size_of(info, requested) for info in plain]
    ranges = list[str]()
    for name, info in zip(names, plain, strict=True):
        if info.dtype in ("int32", "int64"):
            fixed = inputs.fixed_value(info.name)
            low, high = (1, inputs.HIGHEST_ID) if fixed is None else (fixed, fixed)
            ranges.append(f"{name},{low},{high}")
    found = [
        f"--input_layer={','.join(names)}",
        f"--input_layer_shape={':'.join(','.join(map(str, shape)) for shape in shapes)}",
    ]
    return [*found, f"--input_layer_value_range={':'.join(ranges)}"] if ranges else found
