"""Runs attacks in worker processes, each in a folder of its own, which goes unless there is a finding."""

import itertools
import multiprocessing
import queue
import random
import shutil
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.attack.outcome import Outcome
from tests.attack.schedule import Entry
from tests.attack.tally import Tally

KIT_FAILED = 1  # an error of the kit counts as a finding, since nothing was shown


@dataclass(frozen=True, kw_only=True)
class Settings:
    """`work` is where the folders of cases are made; `keep` leaves all of them, else only those of findings stay."""

    seed: int
    work: Path
    workers: int = 2
    keep: bool = False


def run_all(
    entries: Mapping[str, Entry],
    jobs: Iterable[tuple[str, int]],
    settings: Settings,
    *,
    deadline: float | None = None,
    on_outcome: Callable[[str, Outcome], None] = lambda _place, _outcome: None,
) -> Tally:
    """All jobs, or those until the deadline (of `time.monotonic`)."""
    context: Any = multiprocessing.get_context("fork")
    todo, done = context.Queue(), context.Queue()
    workers = [context.Process(target=_work, args=(entries, settings, todo, done)) for _ in range(settings.workers)]
    for worker in workers:
        worker.start()
    tally, coming, under_way = Tally(), iter(jobs), 0
    try:
        for job in itertools.islice(coming, settings.workers * 2):
            todo.put(job)
            under_way += 1
        while under_way:
            try:
                place, outcome = done.get(timeout=5)
            except queue.Empty:
                if not all(worker.is_alive() for worker in workers):
                    raise RuntimeError("a worker of the kit died") from None
                continue
            under_way -= 1
            tally.add(place, outcome)
            on_outcome(place, outcome)
            if (deadline is None or time.monotonic() < deadline) and (job := next(coming, None)) is not None:
                todo.put(job)
                under_way += 1
    finally:
        for _ in workers:
            todo.put(None)
        for worker in workers:
            worker.join(timeout=30)
            if worker.is_alive():
                worker.terminate()
    return tally


def run_one(entry: Entry, name: str, number: int, settings: Settings) -> Outcome:
    """One case, in `work/NAME-NUMBER`."""
    words = "".join(sign if sign.isalnum() else "-" for sign in name)
    folder = settings.work / f"{words}-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        outcome = entry.kind(random.Random(f"{settings.seed}:{name}:{number}"), folder)
    except Exception:  # noqa: BLE001 - the kit must not end because one kind does not work
        trace = " / ".join(traceback.format_exc().strip().splitlines()[-3:])
        outcome = Outcome(kind=name, case="?", code=KIT_FAILED, problem=f"the kit failed: {trace}")
    if not (settings.keep or outcome.problem):
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _work(entries: Mapping[str, Entry], settings: Settings, todo: Any, done: Any) -> None:
    while (job := todo.get()) is not None:
        name, number = job
        done.put((f"{name}:{number}", run_one(entries[name], name, number, settings)))
