"""The processes that time files, one for each file and runtime, and how they take turns under one parent.

Whatever becomes of such a process, its parent lives: a crash, an error of the runtime and a process that never answers
are one line each.
"""

import contextlib
import dataclasses
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import exporters
from exporters.benchmarking.request import MIN_ROUNDS
from exporters.benchmarking.worker import MEMORY, Job, Loaded
from models_tf.errors import InputError
from models_tf.processes import tied

# A round is a burst of calls of about this length: long against the change of processes, short against what else the
# machine does. A burst has at most so many calls.
_BURST_SECONDS, _MAX_CALLS = 0.005, 200
ANSWER_SECONDS = 600.0
COMMAND = (sys.executable, "-m", "exporters.benchmarking.worker")


class Worker:
    """One process. `name` is the file and `title` the runtime, for messages."""

    def __init__(self, job: Job, *, name: str, title: str) -> None:
        self._job, self._name, self._title, self._rest = job, name, title, b""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        self._process = subprocess.Popen(
            tied(COMMAND),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            cwd=Path(exporters.__file__).resolve().parents[1],  # the same packages from any current folder
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def load(self) -> Loaded:
        return Loaded(**self._ask(dataclasses.asdict(self._job), "loaded and first ran the file"))

    def calls(self, count: int) -> dict[str, list[int]]:
        found: dict[str, list[int]] = self._ask(count, "ran the file")
        return found

    def peak_bytes(self) -> int:
        return int(self._ask(MEMORY, "ran the file"))

    def close(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            with contextlib.suppress(OSError):  # a pipe whose reader is gone
                if stream is not None:
                    stream.close()

    def _ask(self, message: Any, doing: str) -> Any:
        line = b""
        with contextlib.suppress(BrokenPipeError):  # it is gone: reading its answer tells how
            if self._process.stdin is not None:
                self._process.stdin.write(json.dumps(message).encode() + b"\n")
                self._process.stdin.flush()
            line = self._line()
        if not line:
            raise InputError(f"{self._must()} Received: {self._end()} while it {doing}.")
        answer = json.loads(line)
        if isinstance(answer, dict) and "error" in answer:
            if answer.get("is_whole"):
                raise InputError(f"{self._name}: {answer['error']}")
            raise InputError(f"{self._must()} Received: {answer['error'].rstrip('.')}.")
        return answer

    def _line(self) -> bytes:
        """The next line of its answers; none if the process has ended."""
        stream, end = self._process.stdout, time.monotonic() + ANSWER_SECONDS
        if stream is None:
            return b""
        while b"\n" not in self._rest:
            ready, _, _ = select.select([stream], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise InputError(f"{self._must()} Received: no answer in {ANSWER_SECONDS:g} seconds.")
            data = os.read(stream.fileno(), 1 << 16)
            if not data:
                return b""
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _must(self) -> str:
        return f"{self._name} must be a file that {self._title} can run."

    def _end(self) -> str:
        """How the process ended, and the last that it said."""
        code = self._process.wait()
        how = f"a process that crashed with signal {-code}" if code < 0 else f"a process that ended with {code}"
        self._stderr.seek(0)
        said = self._stderr.read()[-4096:].decode(errors="replace").strip().splitlines()
        said = [line for line in said if not line.startswith("INFO:")]  # LiteRT's news of its delegate
        return f"{how} ({said[-1].strip().rstrip('.')[:200]})" if said else how


@contextlib.contextmanager
def started(jobs: Iterable[tuple[Job, str, str]]) -> Iterator[list[Worker]]:
    """A process for each job with the names of file and runtime; all end with the block."""
    found = list[Worker]()
    try:
        for job, name, title in jobs:
            found.append(Worker(job, name=name, title=title))
        yield found
    finally:
        for worker in found:
            worker.close()


def take_turns(
    workers: Sequence[Worker], loaded: Sequence[Loaded], *, rounds: int, seconds: float
) -> list[list[dict[str, list[int]]]]:
    """For each worker the calls of each round. Every round starts with another worker, so that none is always first."""
    counts = [burst(one.warm_up_ns) for one in loaded]
    found: list[list[dict[str, list[int]]]] = [[] for _ in workers]
    end = time.monotonic() + seconds
    for number in range(rounds):
        if number >= MIN_ROUNDS and time.monotonic() >= end:
            break
        for step in range(len(workers)):
            index = (number + step) % len(workers)
            found[index].append(workers[index].calls(counts[index]))
    return found


def burst(warm_up_ns: Sequence[int]) -> int:
    """How many calls make a round, by the quickest of the warm-up: others may have waited for the processor."""
    return max(1, min(_MAX_CALLS, int(_BURST_SECONDS * 1e9 / max(1, min(warm_up_ns)))))
