"""`BenchResult`: the measured values, as `--json` prints them. `text.py` and `benchmark_model.py` make text of them."""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exporters.benchmarking.request import CPU, WALL
from exporters.benchmarking.statistics import Ratio, Times
from exporters.formats.model_file import ModelFile

BENCH_VERSION = 1
CALL, RUN = "call", "run of benchmark_model"


@dataclass(frozen=True, kw_only=True)
class FileBench:
    """One file in one runtime.

    Args:
        path: as it was given.
        runtime: its name, for people.
        size_bytes, sha256: of the file.
        signature: which one ran; None is the first graph.
        length: how many tokens, where several numbers were asked for.
        inputs: name, dtype and shape of what it was fed, and whether the file left a size open (`was_open`).
        load_ms, load_cpu_ms: from the file on disk until it can run, by both clocks; measured once.
        first_ms, first_cpu_ms: the first call, likewise.
        warm_up: the calls after that, before the rounds, by wall-clock time.
        wall, cpu: the calls of all rounds. A phone has no `cpu`.
        wall_rounds_ms, cpu_rounds_ms: the median of each round.
        wall_ratio, cpu_ratio: to the first file, paired by round; None where the clock was too coarse.
        peak_bytes: the most memory in use, less that of the runtime without a file; None if unknown.
    """

    path: str
    runtime: str
    size_bytes: int
    sha256: str
    signature: str | None
    inputs: tuple[dict[str, Any], ...]
    load_ms: float
    load_cpu_ms: float | None
    first_ms: float
    first_cpu_ms: float | None
    warm_up: Times
    wall: Times
    cpu: Times | None
    wall_rounds_ms: tuple[float, ...]
    cpu_rounds_ms: tuple[float, ...] | None
    peak_bytes: int | None
    length: int | None = None
    wall_ratio: Ratio | None = None
    cpu_ratio: Ratio | None = None
    # Every call, for the lines of benchmark_model; or those lines, of a phone. Not in the JSON.
    warm_up_us: Sequence[int] = field(default=(), repr=False)
    calls_us: Sequence[int] = field(default=(), repr=False)
    lines: str = field(default="", repr=False)

    def load(self, clock: str) -> float:
        """Milliseconds from the file on disk until it can run."""
        return self.load_cpu_ms if clock == CPU and self.load_cpu_ms is not None else self.load_ms

    def first_answer(self, clock: str) -> float:
        """Milliseconds from the file on disk to its first answer."""
        first = self.first_cpu_ms if clock == CPU and self.first_cpu_ms is not None else self.first_ms
        return self.load(clock) + first

    def times(self, clock: str) -> Times:
        return self.cpu if clock == CPU and self.cpu is not None else self.wall

    def ratio(self, clock: str) -> Ratio | None:
        return self.cpu_ratio if clock == CPU and self.cpu is not None else self.wall_ratio

    def to_dict(self) -> dict[str, Any]:
        found = dataclasses.asdict(self) | {"first_answer_ms": self.first_answer(WALL)}
        for name in ("warm_up_us", "calls_us", "lines"):
            del found[name]
        for name in ("warm_up", "wall", "cpu"):
            times = getattr(self, name)
            if times is not None:
                found[name]["spread_ms"] = times.spread_ms
        return found


def facts(path: Path, file: ModelFile, signature: str | None) -> dict[str, Any]:
    """The fields of `FileBench` that tell which file it was."""
    return {
        "path": str(path),
        "size_bytes": file.size_bytes,
        "sha256": hashlib.sha256(file.content).hexdigest(),
        "signature": signature,
    }


@dataclass(frozen=True, kw_only=True)
class BenchResult:
    """A benchmark: the files in the order given, each in its runtimes.

    Args:
        files: what was measured of each.
        rounds: how often they took turns.
        seconds: the limit after which no new round started.
        threads: threads of the runtime.
        clock: cpu or wall: which one the table compares by.
        sample: what a time is of: one call, or the median of one run of benchmark_model.
        device: the processor of this machine, or the phone.
        versions: of Python, the platform and the runtimes.
        command: what it was made with.
    """

    files: tuple[FileBench, ...]
    rounds: int
    seconds: float
    threads: int
    clock: str
    sample: str
    device: str
    versions: dict[str, str]
    command: str
    bench_version: int = BENCH_VERSION

    def to_dict(self) -> dict[str, Any]:
        fields = [each.name for each in dataclasses.fields(self) if each.name != "files"]
        return {name: getattr(self, name) for name in fields} | {"files": [file.to_dict() for file in self.files]}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def summary(self) -> str:
        """What the command prints, as plain text."""
        from exporters.benchmarking.text import blocks
        from exporters.report.tables import plain

        return plain(blocks(self))

    def benchmark_model(self) -> str:
        """The same in the lines of TFLite's benchmark_model."""
        from exporters.benchmarking.benchmark_model import log

        return "\n".join(
            file.lines or log(file, threads=self.threads, rounds=self.rounds, seconds=self.seconds)
            for file in self.files
        )
