"""The peak memory of a command and all processes that it starts, from /proc."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_EVERY_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True)
class Measured:
    code: int
    stderr: str
    peak_bytes: int  # of the resident sets of all processes together, at any moment


def command(arguments: Sequence[str | Path]) -> Measured:
    """`export-mobile` with these arguments, in a process of its own."""
    return process([sys.executable, "-m", "exporters", *map(str, arguments)])


def process(line: Sequence[str]) -> Measured:
    peak = 0
    with tempfile.TemporaryFile("w+") as stderr:
        started = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=stderr)
        while started.poll() is None:
            peak = max(peak, sum(map(_resident, _family(started.pid))))
            time.sleep(_EVERY_SECONDS)
        stderr.seek(0)
        return Measured(code=started.returncode, stderr=stderr.read(), peak_bytes=peak)


def _family(first: int) -> list[int]:
    """The process and all below it, without those that have not started their own program yet.

    Until then a child borrows the memory of its parent (vfork), and Linux shows the pages of both at either.
    """
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, IndexError):  # it is gone
            continue
        children.setdefault(parent, []).append(int(path.parent.name))
    found, todo = [], [first]
    while todo:
        found.append(todo.pop())
        program = _program(found[-1])
        todo += (pid for pid in children.get(found[-1], []) if _program(pid) != program)
    return found


def _program(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
