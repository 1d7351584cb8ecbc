"""`Job` and `Answer`: a model file with rows for another runtime, and what it answered, or why it did not.

`run_rows` starts one process for all files (`row_worker.py`). If it dies or gives no sign of life, the file that it was
busy with is the one to blame, and another process goes on behind it. No runtime hangs or crashes this process.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from models_tf.processes import tied

Row = dict[str, np.ndarray]
WORKER = Path(__file__).with_name("row_worker.py")
# Without a sign of life: a row of a large file takes seconds in the emulator, loading it up to a minute.
_SILENT_SECONDS = 300.0
_LONGEST = 300


@dataclass(frozen=True, kw_only=True)
class Job:
    """`rows` have the file's own inputs by name, one row each; a text is uint8 and among `texts`.

    `library` has the projection op. `counted` is the row whose instructions are counted. `scales` are scale and zero
    point of integer outputs.
    """

    path: Path
    rows: Sequence[Row]
    texts: tuple[str, ...] = ()
    library: Path | None = None
    counted: int = 0
    scales: Mapping[str, tuple[float, int]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`rows` are the outputs by name, in the order of the job's; empty if there is an `error`."""

    rows: tuple[Row, ...] = ()
    error: str = ""
    instructions: int | None = None


# Where a plugin of the emulator writes -> the command that runs the worker.
Command = Callable[[Path], Sequence[str]]


def here(_log: Path) -> list[str]:
    """The command of runtimes that are installed in this environment."""
    return [sys.executable, str(WORKER)]


def run_rows(
    jobs: Sequence[Job],
    *,
    runtime: str,
    command: Command = here,
    silent_seconds: float = _SILENT_SECONDS,
    step: Callable[[str], None] = lambda _: None,
) -> list[Answer]:
    """An answer for each job. `step` is told the name of each file that is begun."""
    with tempfile.TemporaryDirectory(prefix="export-mobile-rows-") as place:
        folder = Path(place)
        files = []
        for number, job in enumerate(jobs):
            write_rows(folder / f"rows{number}.npz", job.rows)
            files.append(
                {
                    "number": number,
                    "path": str(job.path.resolve()),
                    "rows": str(folder / f"rows{number}.npz"),
                    "texts": list(job.texts),
                    "library": None if job.library is None else str(job.library),
                    "counted": job.counted,
                    "scales": {name: list(pair) for name, pair in job.scales.items()},
                }
            )
        broken, counts = dict[int, str](), dict[int, int]()
        begin = 0
        while begin < len(jobs):
            (folder / "job.json").write_text(json.dumps({"runtime": runtime, "files": files[begin:]}))
            log = folder / f"plugin{begin}.log"
            last, trouble = _watch(command(log), folder, silent_seconds, lambda number: step(jobs[number].path.name))
            marked = [number for number in range(begin, len(jobs)) if (folder / f"{number}.npz").is_file()]
            counts |= dict(zip(marked, _counts(log), strict=False))
            if not trouble:
                break
            blamed = begin if last is None else last
            broken[blamed] = trouble
            begin = blamed + 1
            if last is None:  # it did not even start: nor would it for the others
                broken |= dict.fromkeys(range(begin, len(jobs)), trouble)
                break
        return [_answer(folder, number, broken.get(number, ""), counts.get(number)) for number in range(len(jobs))]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Of each input all values in a row, and their shapes: many small arrays would take the emulator long to read."""
    arrays: dict[str, np.ndarray] = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        arrays[name] = np.concatenate([value.ravel() for value in values])
        arrays[f"{name}.shapes"] = np.array([value.shape for value in values])
    with path.open("wb") as file:
        np.savez(file, **arrays)


def read_answers(path: Path) -> tuple[Row, ...]:
    with np.load(path, allow_pickle=False) as found:
        arrays = dict(found)
    names = [name for name in arrays if not name.endswith(".shapes")]
    rows: list[Row] = [{} for _ in arrays[f"{names[0]}.shapes"]]
    for name in names:
        place = 0
        for row, shape in zip(rows, arrays[f"{name}.shapes"], strict=True):
            size = int(np.prod(shape))
            row[name] = arrays[name][place : place + size].reshape(shape)
            place += size
    return tuple(rows)


def _answer(folder: Path, number: int, broken: str, count: int | None) -> Answer:
    said = folder / f"{number}.txt"
    if broken:
        return Answer(error=broken)
    if said.is_file():
        return Answer(error=said.read_text()[:_LONGEST])
    if not (folder / f"{number}.npz").is_file():
        return Answer(error="no answer")
    return Answer(rows=read_answers(folder / f"{number}.npz"), instructions=count)


def _watch(
    command: Sequence[str], folder: Path, silent_seconds: float, begun: Callable[[int], None]
) -> tuple[int | None, str]:
    """The file that was begun last, and what went wrong, "" if nothing."""
    last: int | None = None
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            tied(command), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
        )
        try:
            for line in _lines(process.stdout, silent_seconds):
                if line.startswith("file "):
                    last = int(line.removeprefix("file "))
                    begun(last)
            code = process.wait(timeout=silent_seconds)
        except (TimeoutError, subprocess.TimeoutExpired):
            return last, f"no sign of life for {silent_seconds:g} s"
        finally:
            with contextlib.suppress(OSError):
                process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if code == 0:
            return last, ""
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().splitlines()
        # qemu names the signal of what it emulates and then dies of it.
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return last, f"the runtime crashed ({how}{f': {said[-1][:_LONGEST]}' if said else ''})"


def _lines(stream: IO[Any] | None, silent_seconds: float) -> Iterator[str]:
    if stream is None:
        return
    rest, end = b"", time.monotonic() + silent_seconds
    while True:
        ready, _, _ = select.select([stream], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise TimeoutError
        chunk = os.read(stream.fileno(), 1 << 16)
        if not chunk:
            return
        end = time.monotonic() + silent_seconds
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)


def _counts(log: Path) -> Iterator[int]:
    """Instructions of one call, for each file whose calls were marked three times; see `row_worker.count`."""
    from exporters.runtimes.row_worker import FEW, MANY

    if not log.is_file():
        return
    lines = log.read_text(errors="replace").splitlines()
    marks = [int(line.removeprefix("mark: ")) for line in lines if line.startswith("mark: ")]
    for start in range(0, len(marks) - 2, 3):
        first, second, third = marks[start : start + 3]
        yield round(((third - second) - (second - first)) / (MANY - FEW))
