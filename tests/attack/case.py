"""One case: a folder with inputs, the command on them, and the oracle that judges how it ended.

    folder/in        inputs and working folder       folder/out    where outputs may appear
    folder/tmp       TMPDIR                          folder/home   HOME
    folder/aside     files that nobody may touch

What is promised of every command: an exit code of the documented set; for exit 2 one line and no traceback; nothing in
TMPDIR and HOME, nothing half-written, nothing touched that was there before; a bound on memory and time; no process
left; no control character on a stream.
"""

import hashlib
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.attack import command
from tests.attack.command import Finished
from tests.attack.outcome import Outcome
from tests.attack.tally import DOCUMENTED

LARGEST_BYTES = 2 << 30
KEPT, ADDED, FREE = "kept", "files may appear", "files may change"
PROGRAM = "export-mobile: "
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True)
class Case:
    """Its folder, with everything made."""

    kind: str
    folder: Path

    @classmethod
    def of(cls, kind: str, folder: Path) -> "Case":
        for name in ("in", "out", "tmp", "home", "aside"):
            (folder / name).mkdir()
        (folder / "aside" / "secret.txt").write_text("nobody may read or touch this\n")
        return cls(kind=kind, folder=folder)

    @property
    def inputs(self) -> Path:
        return self.folder / "in"

    @property
    def aside(self) -> Path:
        return self.folder / "aside"

    @property
    def output(self) -> Path:
        return self.folder / "out" / "result"

    def run(
        self,
        what: str,
        arguments: Sequence[str | bytes],
        *,
        environment: Mapping[str, str] | None = None,
        largest_bytes: int = LARGEST_BYTES,
        may_write: Sequence[str] = (),
        reports: Sequence[str] = (),
        expected: Sequence[int] = DOCUMENTED,
        problems: "Sequence[Problem]" = (),
        app: bool = False,
        inputs: str = KEPT,
    ) -> Outcome:
        """Run the command and judge it. `may_write` are files beside the inputs that it writes when it succeeds,
        `reports` new ones that say how it ended, also after an error.

        `inputs` says what may happen to files beside the inputs on success; after an error all are as they were.
        `app`: the output is the module of an Android app, which is there before and stays as it was after an error.
        """
        if app:
            self.output.mkdir()
            (self.output / "build.gradle.kts").write_text("plugins {}\n")
        before = listing(self.inputs, self.aside)
        finished = command.run(arguments, folder=self.folder, cwd=self.inputs, environment=environment)
        after = listing(self.inputs, self.aside)
        problem = judge(finished, largest_bytes=largest_bytes, expected=expected)
        problem = problem or self._judge_files(finished, before, after, may_write, reports, app=app, inputs=inputs)
        for look in problems:
            problem = problem or look(self, finished)
        return Outcome(kind=self.kind, case=what, code=finished.code, problem=problem)

    def _judge_files(
        self,
        finished: Finished,
        before: Mapping[str, str],
        after: Mapping[str, str],
        may_write: Sequence[str],
        reports: Sequence[str],
        *,
        app: bool,
        inputs: str,
    ) -> str:
        for name in ("tmp", "home"):
            if left := sorted(path.name for path in (self.folder / name).iterdir()):
                return f"left in {name}: {', '.join(left)[:200]}"
        hidden = sorted(path.name for path in self.output.parent.iterdir() if path != self.output)
        if hidden:
            return f"left beside the output: {', '.join(hidden)[:200]}"
        if app and finished.code in (1, 2):
            if len(listing(self.output)) > 1:
                return f"exit {finished.code}, and the app was changed"
        elif finished.code in (1, 2) and os.path.lexists(self.output):
            return f"exit {finished.code}, and the output is there"
        changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        changed = [name for name in changed if name in before or name.removeprefix("in/") not in reports]
        if finished.code not in (1, 2):
            changed = [name for name in changed if name.removeprefix("in/") not in may_write]
            changed = [name for name in changed if inputs == KEPT or name in before or _is_leftover(name)]
            changed = [name for name in changed if inputs != FREE or name.startswith("aside/")]
        if touched := changed:
            return f"touched: {', '.join(map(repr, touched))[:300]}"
        return ""


def _is_leftover(name: str) -> bool:
    return any(word in name for word in (".partial-", ".old-", ".tmp"))


class Problem(Protocol):
    """A further look at a case that ended: called with the case and how it ended, says what is wrong, or nothing."""

    def __call__(self, case: Case, finished: Finished) -> str: ...


def judge(finished: Finished, *, largest_bytes: int = LARGEST_BYTES, expected: Sequence[int] = DOCUMENTED) -> str:
    """What is wrong with how a command ended; empty if nothing is."""
    stderr, last = finished.stderr.decode(errors="replace"), ""
    if lines := stderr.strip("\n").split("\n"):
        last = lines[-1]
    if finished.timed_out:
        return f"still running after {finished.seconds:.0f} s"
    if finished.code < 0:
        return f"ended by signal {-finished.code}: {last[:300]}"
    if finished.code not in expected:
        return f"exit {finished.code}: {last[:400]}"
    if "Traceback (most recent call last)" in stderr:
        return f"a traceback: {last[:300]}"
    if finished.code == 2:
        if not last.startswith(PROGRAM):
            return f"exit 2 without a line that says why: {last[:300]!r}"
        if sum(line.startswith(PROGRAM) for line in lines) > 1 + sum(": warning: " in line for line in lines):
            return f"exit 2 with more than one line: {stderr[:300]!r}"
    for name, stream in (("stdout", finished.stdout), ("stderr", finished.stderr)):
        try:
            shown = stream.decode()
        except UnicodeDecodeError as error:
            return f"{name} is not UTF-8: {error}"
        if found := _UNSAFE.search(shown):
            return f"{name} has a raw {found[0]!r} at {found.start()}"
    if finished.peak_bytes > largest_bytes:
        return f"{finished.peak_bytes / (1 << 20):,.0f} MB of memory"
    if finished.left_processes:
        return "a process was left running"
    return ""


def listing(*folders: Path) -> dict[str, str]:
    """What is there, by name: type, and for files and links what they hold."""
    found: dict[str, str] = {}
    for folder in folders:
        for parent, directories, names in os.walk(folder):
            for name in [*directories, *names]:
                path = Path(parent, name)
                status = path.lstat()
                held = ""
                if stat.S_ISLNK(status.st_mode):
                    held = str(path.readlink())
                elif stat.S_ISREG(status.st_mode):
                    held = f"{status.st_size} {_digest(path, status)}"
                found[os.path.relpath(path, folder.parent)] = f"{stat.S_IFMT(status.st_mode):o} {held}"
    return found


def _digest(path: Path, status: os.stat_result) -> str:
    if status.st_size > 4 << 20:  # large ones by their time
        return str(status.st_mtime_ns)
    return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
