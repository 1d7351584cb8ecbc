"""Something else happens meanwhile: a second process, a link in place of the output, another checkpoint, no TMPDIR.

And streams that are closed, or that nobody reads. Expected: a documented exit code, a complete output or none, nothing
touched that is not ours.
"""

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.attack import command, materials
from tests.attack.case import Case, judge, listing
from tests.attack.command import Finished
from tests.attack.faults import jobs, remains
from tests.attack.faults.jobs import JOBS, Job
from tests.attack.faults.started import Started, names, start
from tests.attack.outcome import Kind, Outcome

EXPECTED = (0, 2, 3, 4, 5)
FOLDERS = ("compress",) * 5 + ("demo page", "export prado")
READERS = ("compress",) * 4 + ("ablate", "export bert")


def two_processes(rng: random.Random, folder: Path) -> Outcome:
    case, job = Case.of("two processes", folder), JOBS[rng.choice(FOLDERS)]
    force = rng.random() < 0.5
    words = job.words(case, *(["--force"] if force else []))
    running, places = [], [folder / "first", folder / "second"]
    for place in places:
        place.mkdir()
        running.append(start(words, folder=place, cwd=case.inputs))
        time.sleep(rng.choice((0, 0, 0.05, 0.3)))
    finished = [one.finish() for one in running]
    problem = next((found for one in finished if (found := judge(one, expected=EXPECTED))), "")
    if not problem and all(one.code for one in finished):
        problem = f"neither succeeded: {finished[0].stderr[-200:]!r}, {finished[1].stderr[-200:]!r}"
    if not problem:
        problem = remains.of_output(job, case) or _left(case, *places)
    if not problem and not case.output.is_dir():
        problem = "no output, though one succeeded"
    codes = "/".join(str(one.code) for one in finished)
    what = f"{job.name}{' --force' if force else ''} twice: {codes}"
    return Outcome(kind=case.kind, case=what, code=max(one.code for one in finished), problem=problem)


def output_replaced(rng: random.Random, folder: Path) -> Outcome:
    case, job = Case.of("output replaced meanwhile", folder), JOBS[rng.choice(FOLDERS)]
    kind = rng.choice(("link", "dangling link", "file", "folder of others"))

    def replace() -> None:
        if kind == "link":
            case.output.symlink_to(case.aside)
        elif kind == "dangling link":
            case.output.symlink_to(case.aside / "not-there")
        elif kind == "file":
            case.output.write_text("somebody's\n")
        else:
            case.output.mkdir()
            (case.output / "somebody.txt").write_text("somebody's\n")

    outcome, done = _during(case, job, rng, replace, kind, force=rng.random() < 0.5)
    if outcome.problem or not done:
        return outcome
    kept = {"link": case.output.is_symlink, "dangling link": case.output.is_symlink, "file": case.output.is_file}
    if not kept.get(kind, (case.output / "somebody.txt").is_file)():
        return Outcome(**{**vars(outcome), "problem": f"the {kind} of somebody else was replaced"})
    return outcome


def checkpoint_changes(rng: random.Random, folder: Path) -> Outcome:
    case, job = Case.of("checkpoint changes meanwhile", folder), JOBS[rng.choice(READERS)]
    checkpoint = materials.copy("bert", case.inputs)
    name = rng.choice(("model.safetensors", "model.safetensors", "config.json", "vocab.txt"))
    how = rng.choice(("cut", "emptied", "removed", "replaced", "written over"))
    path = checkpoint / name

    def change() -> None:
        if how == "cut":
            os.truncate(path, path.stat().st_size // 2)
        elif how == "emptied":
            os.truncate(path, 0)
        elif how == "removed":
            path.unlink()
        elif how == "replaced":
            shutil.copyfile(materials.place() / "albert" / name, folder / "other")
            (folder / "other").replace(path)
        else:
            with path.open("r+b") as file:
                file.seek(path.stat().st_size // 3)
                file.write(rng.randbytes(200))

    place = str(materials.place() / "bert")
    words = [word.replace(place, str(checkpoint)) for word in job.words(case)]
    outcome, _ = _during(case, job, rng, change, f"{name} {how}", words=words, early=True)
    return outcome


def tmpdir_vanishes(rng: random.Random, folder: Path) -> Outcome:
    case, job = Case.of("TMPDIR vanishes", folder), JOBS[rng.choice((*FOLDERS, "check", "export bert"))]
    outcome, _ = _during(case, job, rng, lambda: shutil.rmtree(folder / "tmp", ignore_errors=True), "TMPDIR removed")
    return outcome


def closed_streams(rng: random.Random, folder: Path) -> Outcome:
    case, job = Case.of("closed streams", folder), JOBS[rng.choice(("compress", "compress", "android", "check"))]
    job.prepare(case)
    closed = rng.choice(("<&-", ">&-", "2>&-", "<&- >&- 2>&-", "| true", "2>&1 | head -c 1", ">/dev/full"))
    words = [sys.executable, "-m", "exporters", *job.words(case)]
    script = f'set -o pipefail; "$@" {closed}'
    began = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], cwd=case.inputs, stdin=subprocess.DEVNULL, capture_output=True,
        env={**os.environ, "TMPDIR": str(folder / "tmp")}, timeout=command.SECONDS, check=False,
    )  # fmt: skip
    # Of a pipe it may be the signal that `head` caused, which is that of the program in front.
    finished = Finished(
        code=done.returncode, stdout=done.stdout, stderr=done.stderr, seconds=time.monotonic() - began, peak_bytes=0
    )
    quiet = "2>&-" in closed or "2>&1" in closed
    problem = "" if quiet and finished.code == 2 else judge(finished, expected=EXPECTED)
    problem = problem or remains.of_output(job, case) or _left(case, folder)
    return Outcome(kind=case.kind, case=f"{job.name} {closed}", code=finished.code, problem=problem)


def _during(
    case: Case,
    job: Job,
    rng: random.Random,
    change: Callable[[], None],
    said: str,
    *,
    words: list[str] | None = None,
    early: bool = False,
    force: bool = False,
) -> tuple[Outcome, bool]:
    """Runs the job and makes the change at some moment of it. Whether it came in time is the second value."""
    whole = jobs.seconds(job, case.folder)
    more = ["--force"] if force else []
    before = listing(case.aside)
    running = start(
        [*words, *more] if words else job.words(case, *more),
        folder=case.folder, cwd=case.inputs, environment=job.prepare(case),
    )  # fmt: skip
    moment = rng.uniform(0, 0.3 if early else 0.9) * whole
    while running.is_running() and running.passed() < moment:
        time.sleep(0.002)
    in_time = _try(running, case, change)
    finished = running.finish()
    problem = judge(finished, expected=EXPECTED)
    if not problem and listing(case.aside) != before:
        problem = "files of others were touched"
    if not problem and finished.code == 0:
        problem = remains.of_output(job, case)
    problem = problem or _left(case, case.folder)
    what = f"{job.name}{' --force' if force else ''}, {said} after {moment:.2f} s"
    return Outcome(kind=case.kind, case=what, code=finished.code, problem=problem), in_time


def _try(running: Started, case: Case, change: Callable[[], None]) -> bool:
    if not running.is_running() or os.path.lexists(case.output):
        return False
    try:
        change()
    except FileExistsError:  # the output was quicker
        return False
    return True


def _left(case: Case, *folders: Path) -> str:
    if left := remains.beside(case):
        return f"left beside the output: {left}"
    left = [name for folder in folders for name in names(folder / "tmp")]
    return f"left in TMPDIR: {left[:5]}" if left else ""


KINDS: dict[str, Kind] = {
    "two processes": two_processes,
    "output replaced meanwhile": output_replaced,
    "checkpoint changes meanwhile": checkpoint_changes,
    "TMPDIR vanishes": tmpdir_vanishes,
    "closed streams": closed_streams,
}
