"""kill -9, SIGTERM and SIGINT at random moments of every command, spread over its whole run or aimed at the commit."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.attack import materials
from tests.attack.case import Case, judge, listing
from tests.attack.command import Finished
from tests.attack.faults import jobs, remains
from tests.attack.faults.jobs import JOBS, Job
from tests.attack.faults.started import Started, names, start
from tests.attack.outcome import Kind, Outcome

SIGNALS = {signal.SIGKILL: "kill -9", signal.SIGTERM: "SIGTERM", signal.SIGINT: "SIGINT"}
# What a command answers to each; a signal that comes too late changes nothing.
CODES = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 2}
RESUME_FILE = "resume.safetensors"  # which a training leaves that was stopped
FINISHED = (0, 3, 4, 5)
# Files whose appearance in the work folder says that the end is near.
LAST_FILES = ("report.json", "manifest.json")


def killed(number: signal.Signals, name: str) -> Kind:
    """One run of a job, ended by a signal."""

    def attack(rng: random.Random, folder: Path) -> Outcome:
        return _attack(JOBS[name], number, rng, folder)

    return attack


def sent_and_deadly(document: dict[str, Any]) -> tuple[int, int]:
    """Of what an attack counted: signals that were sent, and those that ended a run before its own end."""
    found = {number: document["kinds"][word] for number, word in SIGNALS.items() if word in document["kinds"]}
    ended = sum(kind["codes"].get(str(CODES[number]), 0) for number, kind in found.items())
    return sum(kind["inputs"] for kind in found.values()), ended


def _attack(job: Job, number: signal.Signals, rng: random.Random, folder: Path) -> Outcome:
    whole = jobs.seconds(job, folder)
    case = Case.of(SIGNALS[number], folder)
    environment = job.prepare(case)
    replaces = job.writes == jobs.FOLDER and rng.random() < 0.4
    if replaces:
        _old_output(job, case, environment)
    at_commit = job.writes == jobs.FOLDER and rng.random() < 0.5
    before = listing(case.inputs, case.aside)
    running = start(
        job.words(case, *(["--force"] if replaces else [])), folder=folder, cwd=case.inputs, environment=environment
    )
    if at_commit:
        moment = f"near the commit, + {(late := rng.choice((0, 0, 0.002, 0.01, 0.03))) * 1000:g} ms"
        _await_commit(running, case, whole)
        time.sleep(late)
    else:
        moment = f"at {(share := rng.uniform(0, 1.05)):.0%} of the run"
        _await(running, lambda: running.passed() > share * whole)
    _await(running, running.has_begun)
    running.send(number)
    finished = running.finish()
    what = f"{job.name}{' --force' if replaces else ''}, {moment}"
    problem = _judge(job, case, number, finished, replaces=replaces)
    if not problem and listing(case.inputs, case.aside) != before and job.name != "setup web":
        problem = "inputs were touched"
    if not problem and (case.output / RESUME_FILE).exists():
        problem = _resumes(job, case, environment)
    return Outcome(kind=case.kind, case=what, code=finished.code, problem=problem)


def _old_output(job: Job, case: Case, environment: dict[str, str]) -> None:
    """An earlier output of the same job, which --force replaces: made once for a run of the kit."""
    known = materials.place() / f"output-{job.name.replace(' ', '-')}"
    if not known.exists():
        done = start(job.words(case), folder=case.folder, cwd=case.inputs, environment=environment).finish()
        if done.code not in FINISHED:
            raise RuntimeError(f"{job.name} fails unharmed: {done.stderr[-1000:]!r}")
        made = known.with_name(f"{known.name}.{os.getpid()}")
        shutil.copytree(case.output, made)
        shutil.rmtree(case.output)
        if not known.exists():
            made.rename(known)
    shutil.copytree(known, case.output)


def _await(running: Started, reached: Callable[[], bool]) -> None:
    while running.is_running() and not reached():
        time.sleep(0.002)


def _await_commit(running: Started, case: Case, whole: float) -> None:
    """Until a file that is written last is in the work folder, or the output has its name."""
    parent = case.output.parent
    _await(running, lambda: running.passed() > 0.5 * whole)

    def near() -> bool:
        for name in names(parent):
            if name.startswith(".") and any((parent / name / last).exists() for last in LAST_FILES):
                return True
        return False

    _await(running, near)


def _judge(job: Job, case: Case, number: signal.Signals, finished: Finished, *, replaces: bool) -> str:
    handled = number != signal.SIGKILL
    if finished.code == -9 and not handled:  # as meant: what else `judge` looks at still holds
        finished = Finished(**{**vars(finished), "code": 0})
    problem = judge(finished, expected=(*FINISHED, CODES[number]))
    if problem:
        return problem
    lines = finished.stderr.decode(errors="replace").splitlines()
    if handled and finished.code == CODES[number]:
        word = "interrupted" if number == signal.SIGINT else "terminated"
        if sum(f"export-mobile: {word}" in line for line in lines) != 1:
            return f"not one line that says {word}: {lines[-2:]}"
    if handled and (left := remains.beside(case)):
        return f"left beside the output: {left}"
    if handled and (left := names(case.folder / "tmp")):
        return f"left in TMPDIR: {left[:5]}"
    problem = remains.of_output(job, case) or remains.after_clean(case) or remains.of_output(job, case)
    if not problem and replaces and not os.path.lexists(case.output):
        return "the old output is gone and no new one is there"
    return problem


def _resumes(job: Job, case: Case, environment: dict[str, str]) -> str:
    """A training that was ended goes on, or begins again, and ends well."""
    folder = case.folder / "again"
    folder.mkdir()
    words = job.words(case, "--resume")
    done = start(words, folder=folder, cwd=case.inputs, environment=environment).finish()
    if done.code:
        return f"--resume ended with {done.code}: {done.stderr.decode(errors='replace')[-300:]}"
    missing = [name for name in ("config.json", "model.safetensors") if not (case.output / name).is_file()]
    return f"a resumed training wrote no {missing}" if missing else remains.of_output(job, case)


KINDS = {f"{word}: {name}": killed(number, name) for number, word in SIGNALS.items() for name in JOBS}
# A compression commits its folder as an export does, and takes a tenth of the time.
SHARES = {name: 6.0 if "compress" in name else 1.0 for name in KINDS}
