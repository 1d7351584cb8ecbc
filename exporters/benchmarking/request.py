"""`BenchRequest`: the input of one benchmark. Its fields are the flags of the command. Imports nothing heavy."""

import importlib.metadata
import re
from dataclasses import dataclass
from pathlib import Path

from exporters.formats.base import FORMATS, Runtime, get
from exporters.request_fields import check_fields
from models_tf import registry
from models_tf.bounded_files import what_is
from models_tf.errors import InputError, naming_fields

DEFAULT_ROUNDS = 30
DEFAULT_SECONDS = 60.0
# Quartiles of fewer rounds say nothing.
MIN_ROUNDS, MAX_ROUNDS = 5, 10_000
MAX_THREADS = 256
MAX_FILES = 64  # each is a process, and each length of it
MAX_LENGTH = 4096
ALL = "all"
CPU, WALL = "cpu", "wall"
CLOCKS = (CPU, WALL)
TEXT = "please book a table for two at the italian place near the station tomorrow at seven"


@dataclass(frozen=True, kw_only=True)
class BenchRequest:
    """One benchmark of model files.

    Args:
        files: .tflite and .onnx files, written by this project or by others; ratios compare with the first.
        runtime: litert, tflite-runtime, onnxruntime, or all that are installed; by default LiteRT and ONNX Runtime. A
            file runs in each of them that takes its format.
        threads: threads of the runtime.
        rounds: how often the files take turns, at least 5.
        seconds: stop after so long, though not before 5 rounds.
        clock: what medians and ratios are made of, cpu or wall; by default processor time for one thread, else
            wall-clock time.
        shape: sizes of inputs, such as `ids=1,64`; by default those of the file, with 1 for an open batch and 128 for
            any other open size.
        lengths: measure each file with so many tokens, such as (16, 64, 128). For files that take any length.
        signature: which signature of the files runs; by default the first graph.
        text: what files that take text are given.
        seed: for made-up inputs.
        adb: measure on a connected phone, with the official benchmark binary.
        benchmark_binary: that binary, `benchmark_model` of TFLite, built for the phone.

    Raises:
        InputError: a value of the wrong type, or one that contradicts another; in one line.
    """

    files: tuple[Path, ...]
    runtime: tuple[str, ...] = ()
    threads: int = 1
    rounds: int = DEFAULT_ROUNDS
    seconds: float = DEFAULT_SECONDS
    clock: str | None = None
    shape: tuple[str, ...] = ()
    lengths: tuple[int, ...] = ()
    signature: str | None = None
    text: str = TEXT
    seed: int = 0
    adb: bool = False
    benchmark_binary: Path | None = None

    @naming_fields()
    def __post_init__(self) -> None:
        for name in ("runtime", "shape"):  # as typed: `litert,onnxruntime`, or one --shape
            value = getattr(self, name)
            if isinstance(value, str):
                parts = value.split(",") if name == "runtime" else [value]
                object.__setattr__(self, name, tuple(part.strip() for part in parts if part.strip()))
        typed: object = self.lengths  # `16,64` as typed
        if isinstance(typed, str):
            object.__setattr__(self, "lengths", parse_lengths(typed))
        check_fields(self)
        if not 1 <= len(self.files) <= MAX_FILES:
            raise InputError(f"bench takes 1 to {MAX_FILES} model files. Received: {len(self.files)}.")
        for path in self.files:
            _check_file(path)
        if not 1 <= self.threads <= MAX_THREADS:
            raise InputError(f"--threads must be 1 to {MAX_THREADS}. Received: {self.threads}.")
        if not MIN_ROUNDS <= self.rounds <= MAX_ROUNDS:
            raise InputError(f"--rounds must be {MIN_ROUNDS} to {MAX_ROUNDS}. Received: {self.rounds}.")
        if not 0 < self.seconds <= 86_400:
            raise InputError(f"--seconds must be above 0 and at most 86,400, a day. Received: {self.seconds:g}.")
        if self.clock is not None and self.clock not in CLOCKS:
            raise InputError(f"--clock must be {' or '.join(CLOCKS)}. Received: {self.clock}.")
        if not 0 <= self.seed < 1 << 63:
            raise InputError(f"--seed must be 0 to 2^63 - 1. Received: {self.seed}.")
        parse_shapes(self.shape)
        self._check_lengths()
        self._check_phone()
        self._check_runtimes()

    def _check_lengths(self) -> None:
        if not self.lengths:
            return
        rising = all(one < other for one, other in zip(self.lengths, self.lengths[1:], strict=False))
        if not rising or self.lengths[0] < 1 or self.lengths[-1] > MAX_LENGTH:
            shown = ",".join(map(str, self.lengths))
            raise InputError(f"--lengths must rise from 1 to at most {MAX_LENGTH}, as 16,64,128. Received: {shown}.")
        if self.shape:
            raise InputError(f"Give --lengths or --shape, not both. Received: --shape {self.shape[0]}.")
        if self.adb:
            raise InputError("--adb takes --shape ids=1,64 in place of --lengths. Received: both.")
        if len(self.files) * len(self.lengths) > MAX_FILES:
            count = f"{len(self.files)} files, {len(self.lengths)} lengths"
            raise InputError(f"bench takes at most {MAX_FILES} files, each length of a file counts. Received: {count}.")

    def _check_phone(self) -> None:
        if not self.adb:
            if self.benchmark_binary is not None:
                raise InputError(f"--benchmark-binary is for --adb. Received: {self.benchmark_binary} without.")
            return
        if self.runtime:
            raise InputError(f"--adb runs its own binary: leave out --runtime. Received: {', '.join(self.runtime)}.")
        if self.clock == CPU:
            raise InputError("--adb measures wall-clock time: leave out --clock. Received: cpu.")
        others = [path for path in self.files if path.suffix.lower() != ".tflite"]
        if others:
            raise InputError(f"--adb runs .tflite files. Received: {others[0]}.")

    def _check_runtimes(self) -> None:
        known = {runtime.name: runtime for name in FORMATS for runtime in get(name).runtimes}
        names = (*known, ALL)
        for name in self.runtime:
            if name not in names:
                raise InputError(
                    f"--runtime must be some of {', '.join(names)}. Received: {name}.{registry.nearest(name, names)}"
                )
            if name != ALL and not _is_installed(known[name]):
                distribution = known[name].distribution
                raise InputError(
                    f"--runtime {name} needs {distribution}, which is not installed: pip install {distribution}."
                )
        for path in self.files:
            if not self._runtimes(path):
                takes = " or ".join(runtime.name for runtime in get(format_of(path)).runtimes)
                raise InputError(f"{path} runs in {takes}. Received: --runtime {','.join(self.runtime)}.")

    def _runtimes(self, path: Path) -> tuple[Runtime, ...]:
        own = get(format_of(path)).runtimes
        if ALL in self.runtime:
            return tuple(runtime for runtime in own if _is_installed(runtime))
        return tuple(runtime for runtime in own if runtime.name in self.runtime) if self.runtime else own[:1]

    @property
    def usual_clock(self) -> str:
        """The clock to compare by. Threads that wait for each other spin, so several have no meaningful processor time;
        and the binary for phones prints none.
        """
        return self.clock or (CPU if self.threads == 1 and not self.adb else WALL)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """`shape` by the name of the input."""
        return parse_shapes(self.shape)

    @property
    def jobs(self) -> tuple[tuple[Path, Runtime], ...]:
        """Each file with each runtime that it runs in, in the order given."""
        return tuple((path, runtime) for path in self.files for runtime in self._runtimes(path))


def parse_shapes(texts: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """`ids=1,64` as {"ids": (1, 64)}. A name may hold an equals sign, sizes cannot."""
    found = dict[str, tuple[int, ...]]()
    for text in texts:
        name, _, sizes = text.rpartition("=")
        if not name or not re.fullmatch(r"[1-9][0-9]{0,8}(,[1-9][0-9]{0,8})*", sizes):
            raise InputError(f"--shape must be an input and its sizes, such as ids=1,64. Received: {text[:80]!r}.")
        found[name] = tuple(map(int, sizes.split(",")))
    return found


def parse_lengths(text: str) -> tuple[int, ...]:
    """`16,64` as (16, 64)."""
    if not re.fullmatch(r" *[0-9]{1,9} *(, *[0-9]{1,9} *)*", text):
        raise InputError(f"--lengths must be numbers of tokens, such as 16,64,128. Received: {text[:80]!r}.")
    return tuple(map(int, text.split(",")))


def format_of(path: Path) -> str:
    """The ending says the format."""
    return path.suffix.lower().removeprefix(".")


def _check_file(path: Path) -> None:
    endings = " or ".join(f".{name}" for name in FORMATS if get(name).runtimes)
    if format_of(path) not in FORMATS or not get(format_of(path)).runtimes:
        raise InputError(f"bench takes {endings} files. Received: {path}.")
    if not path.is_file():
        raise InputError(f"bench takes {endings} files. Received: {path} ({what_is(path)}).")


def _is_installed(runtime: Runtime) -> bool:
    try:
        importlib.metadata.version(runtime.distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
