"""Too little of something: disk, TMPDIR, file size, address space, open files, rights in a folder.

Expected: exit 2 with one line, or success where it was enough after all; nothing left. Disks are real file systems, so
these kinds need root; rights are those of root without its power over permissions, which is what another user has.
"""

import contextlib
import ctypes
import os
import random
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from exporters import system_limits
from tests.attack.case import Case, judge
from tests.attack.faults import jobs, remains
from tests.attack.faults.jobs import JOBS, Job
from tests.attack.faults.started import names, start
from tests.attack.outcome import Kind, Outcome

EXPECTED = (0, 2, 3, 4, 5)
# Mostly cheap ones; exports write most.
WRITERS = ("compress",) * 5 + ("demo page", "ablate", "check", "export prado", "train prado", "export bert")
HEAVY = ("compress",) * 5 + ("ablate", "explain", "export prado", "train prado")
_FILE_POWERS = (1, 2, 3)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
_DROP_FROM_BOUNDS = 24  # PR_CAPBSET_DROP
_CAPABILITIES_VERSION = 0x20080522


def full_disk(rng: random.Random, folder: Path) -> Outcome:
    case, job, kilobytes = (
        Case.of("full disk", folder),
        JOBS[rng.choice(WRITERS)],
        rng.choice((0, 4, 16, 64, 256, 1024)),
    )
    with _disk(case.output.parent, kilobytes):
        return _run(case, job, f"{job.name} on a disk of {kilobytes} KB")


def full_tmpdir(rng: random.Random, folder: Path) -> Outcome:
    case, job, kilobytes = Case.of("full TMPDIR", folder), JOBS[rng.choice(WRITERS)], rng.choice((4, 8, 16, 64))
    with _disk(folder / "tmp", kilobytes):
        with contextlib.suppress(OSError), (folder / "tmp" / "filling").open("wb") as file:
            file.write(bytes(rng.choice((0, kilobytes << 10))))
        return _run(case, job, f"{job.name} with a TMPDIR of {kilobytes} KB", kept=("filling",))


def file_size(rng: random.Random, folder: Path) -> Outcome:
    size = rng.choice((0, 100, 2000, 20_000, 100_000, 500_000))
    job = JOBS[rng.choice(WRITERS)]
    limit = _limited(resource.RLIMIT_FSIZE, size)
    return _run(Case.of("file size", folder), job, f"{job.name}, files of {size} bytes", limit=limit)


def address_space(rng: random.Random, folder: Path) -> Outcome:
    least = system_limits._ADDRESS_BYTES
    size, job = int(rng.uniform(0.55, 1) * least), JOBS[rng.choice(HEAVY)]
    limit = _limited(resource.RLIMIT_AS, size)
    what = f"{job.name} in {size >> 20} MB"
    return _run(Case.of("address space", folder), job, what, limit=limit, expected=(2,))


def open_files(rng: random.Random, folder: Path) -> Outcome:
    count, job = rng.randint(12, 80), JOBS[rng.choice((*HEAVY, "check", "demo page", "bench"))]
    limit = _limited(resource.RLIMIT_NOFILE, count)
    return _run(Case.of("open files", folder), job, f"{job.name} with {count} files", limit=limit)


def read_only(rng: random.Random, folder: Path) -> Outcome:
    case, job = Case.of("read-only folder", folder), JOBS[rng.choice(WRITERS)]
    closed = {"output": case.output.parent, "TMPDIR": folder / "tmp", "inputs": case.inputs}
    name = rng.choice(tuple(closed))
    mode = rng.choice((0o500, 0o000)) if name != "inputs" else 0o500
    closed[name].chmod(mode)
    try:
        return _run(case, job, f"{job.name}, {name} with mode {mode:03o}", limit=_without_power_over_files)
    finally:
        closed[name].chmod(0o700)


def _run(
    case: Case,
    job: Job,
    what: str,
    *,
    limit: Callable[[], None] | None = None,
    expected: tuple[int, ...] = EXPECTED,
    kept: tuple[str, ...] = (),
) -> Outcome:
    environment = job.prepare(case)
    running = start(job.words(case), folder=case.folder, cwd=case.inputs, environment=environment, limit=limit)
    finished = running.finish()
    problem = judge(finished, expected=expected) or remains.of_output(job, case)
    if not problem and finished.code == 2 and os.path.lexists(case.output) and job.writes == jobs.FOLDER:
        problem = "exit 2, and the output is there"
    if not problem and (left := remains.beside(case)):
        problem = f"left beside the output: {left}"
    if not problem and (left := sorted(set(names(case.folder / "tmp")) - set(kept))):
        problem = f"left in TMPDIR: {left[:5]}"
    return Outcome(kind=case.kind, case=what, code=finished.code, problem=problem)


@contextlib.contextmanager
def _disk(folder: Path, kilobytes: int) -> Iterator[None]:
    # A tmpfs of size 0 has no bound: one page is the least.
    options = f"size={max(kilobytes, 4)}k"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _limited(kind: int, value: int) -> Callable[[], None]:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as Python itself has it, which a fork keeps
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(kind, (value, value))

    return limit


def _without_power_over_files() -> None:
    """Root, bound by permissions as anybody else: a user's folders of other users are closed, too."""
    libc = ctypes.CDLL(None, use_errno=True)
    for power in _FILE_POWERS:
        libc.prctl(_DROP_FROM_BOUNDS, power, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets):
        raise OSError(ctypes.get_errno(), "capget")
    for power in _FILE_POWERS:
        for which in range(3):  # effective, permitted, inheritable
            sets[which] &= ~(1 << power) & 0xFFFFFFFF
    if libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")


def _may_mount() -> bool:
    return os.getuid() == 0 and shutil.which("mount") is not None and "CapEff:\t0000000000000000" not in _status()


def _status() -> str:
    return Path("/proc/self/status").read_text()


KINDS: dict[str, Kind] = {"file size": file_size, "address space": address_space, "open files": open_files}
if _may_mount():
    KINDS |= {"full disk": full_disk, "full TMPDIR": full_tmpdir, "read-only folder": read_only}
