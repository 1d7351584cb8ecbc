"""A command that runs while something is done to it: started as a child that has everything imported, watched in /proc.

The child leads a session of its own, so whatever it starts can be found, also after its end.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.attack import command
from tests.attack.command import Finished

# A process that is tied to its parent (models_tf/processes.py) is gone at once, one that waits for input soon after.
GRACE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Started:
    """One running command; `pid` is also its session and its process group."""

    pid: int
    folder: Path
    began: float

    def passed(self) -> float:
        return time.monotonic() - self.began

    def is_running(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def has_begun(self) -> bool:
        """Whether the command's own code runs, which handles SIGTERM first of all; before that it is the kit's."""
        with contextlib.suppress(OSError, StopIteration, IndexError):
            status = Path(f"/proc/{self.pid}/status").read_text().splitlines()
            caught = next(line for line in status if line.startswith("SigCgt")).split()[1]
            return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)
        return True

    def send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def finish(self, seconds: float = command.SECONDS) -> Finished:
        """Wait for its end, and for that of its processes; those that stay on are counted and killed."""
        others = descendants(self.pid)
        status, usage, timed_out = command._wait(self.pid, self.began + seconds)
        end = time.monotonic() + GRACE_SECONDS
        while (left := {pid for pid in {*others, *session(self.pid)} if is_alive(pid)}) and time.monotonic() < end:
            time.sleep(0.02)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return Finished(
            code=os.waitstatus_to_exitcode(status),
            stdout=(self.folder / "stdout").read_bytes(),
            stderr=(self.folder / "stderr").read_bytes(),
            seconds=self.passed(),
            peak_bytes=usage.ru_maxrss * 1024,
            timed_out=timed_out,
            left_processes=bool(left),
        )


def start(
    arguments: Sequence[str],
    *,
    folder: Path,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    limit: Callable[[], None] | None = None,
) -> Started:
    """As `command.run` does, without waiting. `limit` is called in the child in place of the kit's own limits."""
    for name in ("tmp", "home"):
        (folder / name).mkdir(exist_ok=True)
    changes = {"TMPDIR": str(folder / "tmp"), "HOME": str(folder / "home"), **(environment or {})}
    with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
        began = time.monotonic()
        child = os.fork()
        if not child:
            if limit is not None:
                command._limit = limit
            command._child(list(arguments), cwd, changes, stdout.fileno(), stderr.fileno())
    return Started(pid=child, folder=folder, began=began)


def session(leader: int) -> set[int]:
    """Processes of the session, without its leader."""
    found = set()
    for name in names("/proc"):
        if name.isdigit() and int(name) != leader and _stat(int(name))[3:4] == [str(leader)]:
            found.add(int(name))
    return found


def descendants(pid: int) -> set[int]:
    """Children, and theirs, whatever session they are in."""
    found: set[int] = set()
    for task in names(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{pid}/task/{task}/children").read_text().split()
            found |= {int(child) for child in children}
    for child in tuple(found):
        found |= descendants(child)
    return found


def is_alive(pid: int) -> bool:
    return _stat(pid)[:1] not in ([], ["Z"], ["X"])


def _stat(pid: int) -> list[str]:
    """State, parent, group, session and so on; empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def names(folder: str | Path) -> list[str]:
    """What is in a folder; nothing if it is gone."""
    try:
        return sorted(path.name for path in Path(folder).iterdir())
    except OSError:
        return []
