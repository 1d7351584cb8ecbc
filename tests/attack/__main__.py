"""Attacks the commands with mutated inputs and with faults of the system, and counts what happens.

    python -m tests.attack --minutes 30 --seed 16
    python -m tests.attack --count 10000 --faults 300 --seed 16 --result docs/results/attack.json --page
    python -m tests.attack --seed 16 --only "safetensors header:37" --keep folder

Every case follows from the seed, its kind and its number: `--only KIND:NUMBER` repeats one and keeps its folder. Exit
code 0 if nothing was found, 1 if something was, 2 if a package that a command needs is missing.
"""

import argparse
import itertools
import json
import resource
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

INPUTS_PER_FAULT = 25  # with --minutes; a fault takes some ten seconds
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [entry for entry in (str(ROOT), str(ROOT / "tests")) if entry not in sys.path]

from tests.attack import command, materials, runner, schedule, tally  # noqa: E402


def main(argv: list[str] | None = None) -> int:
    """Returns the exit code."""
    options = _parser().parse_args(argv)
    entries = schedule.load()
    if options.list:
        print("\n".join(f"{name}  (share {entry.share:g})" for name, entry in entries.items()))
        return 0
    if (options.minutes or options.faults) and (missing := _missing()):
        print(
            f"python -m tests.attack: `demo` is one of the commands that are killed. It needs {missing}.",
            file=sys.stderr,
        )
        return 2
    work = Path(options.keep or tempfile.mkdtemp(prefix="attack-")).resolve()
    work.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    command.prepare()
    materials.make(Path(options.materials).resolve() if options.materials else work / "materials")
    print(f"ready after {time.monotonic() - began:.0f} s; folders of findings stay in {work}", file=sys.stderr)
    settings = runner.Settings(seed=options.seed, work=work, workers=options.workers, keep=bool(options.keep))
    jobs, began = _jobs(options, entries), time.monotonic()
    deadline = began + 60 * options.minutes if options.minutes else None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    progress = _Progress(schedule.of_package(entries, schedule.FAULTS), quiet=options.quiet)
    found = runner.run_all(entries, jobs, settings, deadline=deadline, on_outcome=progress)
    typed = f"python -m tests.attack {shlex.join(sys.argv[1:] if argv is None else argv)}"
    document = {
        "command": typed,
        "seed": options.seed,
        "seconds": round(time.monotonic() - began),
        "faults": progress.faults,
        **found.document(),
    }
    print(tally.text(tally.rows(document)))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    each = (used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime) / max(1, found.inputs)
    print(f"\n{found.inputs:,} inputs, {len(found.findings)} findings, {document['seconds']} s, seed {options.seed}")
    print(f"{each:.2f} s of processor time for each")
    for finding in found.findings:
        again = shlex.join(["python", "-m", "tests.attack", "--seed", str(options.seed), "--only", finding.place])
        print(f"\n{finding.place} ({finding.outcome.case}), exit {finding.outcome.code}: {finding.outcome.problem}")
        print(f"  {again} --keep FOLDER")
    if options.result:
        Path(options.result).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if options.page:
        from tests.attack import page

        page.rewrite(document)
    return 1 if found.findings else 0


def _missing() -> str:
    """The engines that the page of `demo` needs: without them it ends before a signal reaches it."""
    from exporters.runtimes import npm

    missing = [package for package in (npm.ORT_WEB, npm.LITERT_JS) if npm.node_modules(package) is None]
    return f"{' and '.join(missing)}: {npm.REMEDY}, or name their folder in NODE_PATH" if missing else ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__.partition("\n")[0])
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, help="start no new case after so many minutes")
    length.add_argument("--count", type=int, default=200, help="so many mutated inputs (default 200)")
    length.add_argument("--only", action="append", metavar="KIND:NUMBER", help="one case; repeatable")
    parser.add_argument("--faults", type=int, default=0, metavar="N", help="with --count: so many faults beside them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=[], metavar="NAME", help="kinds whose name starts with these")
    parser.add_argument("--list", action="store_true", help="list the kinds")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--result", metavar="FILE", help="write what was counted, as JSON")
    parser.add_argument("--page", action="store_true", help="rewrite the table in docs/reliability.md")
    parser.add_argument("--keep", metavar="DIR", help="make the folders of all cases here and leave them")
    parser.add_argument("--materials", metavar="DIR", help="make the unharmed inputs here, or take them from here")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser


def _jobs(options: argparse.Namespace, entries: dict[str, schedule.Entry]) -> Iterable[tuple[str, int]]:
    if options.only:
        return [(name, int(number)) for name, _, number in (place.rpartition(":") for place in options.only)]
    wanted = schedule.chosen(entries, options.kinds)
    inputs, faults = (schedule.of_package(wanted, package) for package in schedule.PACKAGES)
    if options.minutes:
        if not inputs or not faults:
            return schedule.order(wanted)
        return schedule.mixed(schedule.order(inputs), schedule.order(faults), INPUTS_PER_FAULT)
    count = options.count if inputs else 0
    many = min(options.faults, options.count) if inputs else options.count
    jobs = itertools.islice(schedule.order(inputs), count)
    return schedule.mixed(jobs, itertools.islice(schedule.order(faults), many), max(1, count // max(1, many)))


class _Progress:
    """A line on stderr for each finding, and one now and then."""

    def __init__(self, faults: Collection[str], *, quiet: bool) -> None:
        self._of_faults, self.faults = set(faults), 0
        self._quiet, self._count, self._next, self._began = quiet, 0, time.monotonic() + 20, time.monotonic()
        self._codes: Counter[int] = Counter()

    def __call__(self, place: str, outcome: "runner.Outcome") -> None:
        self._count += 1
        self.faults += place.rpartition(":")[0] in self._of_faults
        self._codes[outcome.code] += 1
        if outcome.problem:
            print(f"FINDING {place} ({outcome.case}), exit {outcome.code}: {outcome.problem[:300]}", file=sys.stderr)
        if not self._quiet and time.monotonic() > self._next:
            self._next = time.monotonic() + 20
            passed = time.monotonic() - self._began
            print(f"{self._count:,} inputs, {passed:.0f} s, exit codes {dict(self._codes)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
