"""Times one file in one runtime, in its own process: a runtime may crash on a file, and two may not get along.

`workers.py` starts it with `python -m`. Every line on stdin and stdout is JSON. The first line in is a `Job`; the
answer is a `Loaded`. Then each number n in is answered by the nanoseconds of n calls, and `"memory"` by bytes. It ends
with its input. An error is the answer {"error": ...}.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from exporters.benchmarking import inputs, memory
from exporters.formats.base import TimedGraph, get
from exporters.formats.model_file import TensorInfo
from models_tf.errors import InputError

MEMORY = "memory"
MIN_WARM_UP, WARM_UP_SECONDS, MAX_WARM_UP = 3, 0.2, 500
# What runtimes raise on a file that they cannot run; ONNX Runtime's own errors are RuntimeErrors or plain Exceptions.
_LONGEST_REASON = 300


@dataclass(frozen=True, kw_only=True)
class Job:
    """`projection`: the file holds the projection op. `asked_by` is the flag that gave `shapes`, for messages."""

    path: str
    format: str
    runtime: str
    projection: bool
    threads: int
    signature: str | None
    shapes: dict[str, tuple[int, ...]]
    text: str
    seed: int
    asked_by: str = "--shape"


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """Nanoseconds until the file was ready and of the first call, by both clocks, and of each call of the warm-up after
    it. `fed` are the inputs: name, type, shape, and whether the file left a size open.
    """

    load_ns: dict[str, int]
    first_ns: dict[str, int]
    warm_up_ns: tuple[int, ...]
    fed: tuple[dict[str, Any], ...]


class Timer:
    """One file, loaded and fed."""

    def __init__(self, job: Job) -> None:
        graph = get(job.format).timed_graph(
            runtime=job.runtime, projection=job.projection, threads=job.threads, signature=job.signature
        )
        self._base = memory.start()
        loading = _timed(lambda: graph.load(Path(job.path).read_bytes()))
        infos = graph.inputs()
        feeding, first_ns = self._first(graph, job)
        self._run = graph.run
        self.loaded = Loaded(
            load_ns={clock: loading[clock] + feeding[clock] for clock in loading},
            first_ns=first_ns,
            warm_up_ns=self._warm_up(),
            fed=tuple(
                {
                    "name": info.name,
                    "dtype": info.dtype,
                    "shape": inputs.size_of(info, job.shapes, job.text),
                    "was_open": any(not isinstance(size, int) or size < 1 for size in info.shape),
                }
                for info in infos
            ),
        )

    @staticmethod
    def _first(graph: TimedGraph, job: Job) -> tuple[dict[str, int], dict[str, int]]:
        """Feeds the graph and runs it once. Made-up ids may be beyond a small table: then all of them are 1."""
        for smallest in (False, True):
            feed = inputs.make(graph.inputs(), requested=job.shapes, text=job.text, seed=job.seed, smallest=smallest)
            try:
                feeding = _timed(lambda: graph.feed(feed))  # noqa: B023 - called at once
                return feeding, _timed(graph.run)
            except Exception:
                if smallest:
                    _check_sizes(graph.inputs(), job)
                    raise
        raise AssertionError("unreachable")

    def _warm_up(self) -> tuple[int, ...]:
        found, end = list[int](), time.perf_counter() + WARM_UP_SECONDS
        while len(found) < MIN_WARM_UP or (len(found) < MAX_WARM_UP and time.perf_counter() < end):
            started = time.perf_counter_ns()
            self._run()
            found.append(time.perf_counter_ns() - started)
        return tuple(found)

    def calls(self, count: int) -> dict[str, list[int]]:
        """Nanoseconds of `count` calls on both clocks, after one more call: other processes had the caches."""
        run, wall, cpu = self._run, list[int](), list[int]()
        run()
        for _ in range(count):
            cpu_start, wall_start = time.process_time_ns(), time.perf_counter_ns()
            run()
            wall_end, cpu_end = time.perf_counter_ns(), time.process_time_ns()
            wall.append(wall_end - wall_start)
            cpu.append(cpu_end - cpu_start)
        return {"wall": wall, "cpu": cpu}

    def peak_bytes(self) -> int:
        return memory.peak_above(self._base)


def _check_sizes(infos: tuple[TensorInfo, ...], job: Job) -> None:
    """A size that is not the file's is what made the runtime fail: larger than its largest, or another."""
    for info in infos:
        asked = job.shapes.get(info.name, ())
        known = [
            (size, one) for size, one in zip(info.shape, asked, strict=False) if isinstance(size, int) and size > 0
        ]
        if any(size != one for size, one in known):
            limit = "at most " if any(one > size for size, one in known) else ""
            raise InputError(
                f"{job.asked_by} must fit the file, which takes {limit}{inputs.as_typed(info.name, info.shape)}. "
                f"Received: {inputs.as_typed(info.name, asked)}."
            )


def _timed(work: Callable[[], Any]) -> dict[str, int]:
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    work()
    return {"wall": time.perf_counter_ns() - wall, "cpu": time.process_time_ns() - cpu}


def main() -> int:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # runtimes print; stdout belongs to the answers
    gc.disable()

    def answer(work: Callable[[], Any]) -> bool:
        try:
            found = work()
        except MemoryError:
            found = {"error": "not enough memory"}
        except InputError as error:
            found = {"error": str(error), "is_whole": True}
        except Exception as error:  # noqa: BLE001 - each runtime has its own errors, and all are the user's file
            found = {"error": " ".join(str(error).split())[:_LONGEST_REASON] or type(error).__name__}
        answers.write(json.dumps(found) + "\n")
        return not (isinstance(found, dict) and "error" in found)

    timer: Timer | None = None

    def load(values: dict[str, Any]) -> dict[str, Any]:
        nonlocal timer
        timer = Timer(Job(**values))
        return asdict(timer.loaded)

    for line in sys.stdin:
        message = json.loads(line)
        if timer is None:
            done = answer(lambda: load(message))  # noqa: B023 - called at once
        elif message == MEMORY:
            done = answer(timer.peak_bytes)
        else:
            done = answer(lambda: timer.calls(message))  # noqa: B023 - called at once
        if not done:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
