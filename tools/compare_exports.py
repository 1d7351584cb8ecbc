"""Makes a fixed list of exports from two commits and compares every file byte for byte.

    python tools/compare_exports.py REFERENCE [CANDIDATE] [--work FOLDER] [--only PATTERN] [--jobs N] [--json FILE]

For a restructuring, which must not change what is written. Both commits run on this machine with this Python, only
through their command line. With `--work` results are kept and reused, and a killed run continues.
Exit codes: 0 all equal, 1 something differs or failed, 2 bad usage.

Leaves out report.md (the values of report.json), what a command prints (except JSON), and the values in `VOLATILE`.
The list is in `export_cases.py`, what it reads in `export_inputs.py`.
"""

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from export_cases import JSON, Case, all_cases
from export_inputs import inputs
from export_runs import WORKTREE, Launcher, Outcome, Run, RunError, find_tree, keys_of, open_run

SKIPPED = {
    "report.md": "report.json as text, with its times",
    "README.md": "report.json as text, with its times",
    "manifest.json": "sums of the other files, reports among them",
    ".export-mobile.json": "the names of the other files",
    "report.html": "report.json as a page, with its times",
}
# File -> values that differ between two runs of one commit, and why. `*` is any key or list index.
VOLATILE: dict[str, dict[str, str]] = {
    "report.json": {
        "latency.*.median_ms": "a time",
        "latency.*.quartiles_ms.*": "times",
        "latency.*.runs": "as many as fit into a time",
        "latency_cpu": "of the machine",
        "seconds.*": "times",
        "versions.*": "of what is installed",
    },
    "training.json": {"seconds": "a time"},
    JSON: {
        "cpu": "of the machine",
        "files.*.timing": "times",
        "seconds": "a time",
        "versions.*": "of what is installed",
    },
}
EQUAL, DIFFERENT, FAILED, MADE = "equal", "different", "failed", "made"  # of a case
ABSENT, ADDED, LEFT_OUT = "absent", "added", "skipped"  # of a file
SHOWN = 5  # values of a JSON file that differ
EYES = "prado-snips-int8"


@dataclass(frozen=True, kw_only=True)
class FileResult:
    """`state` of one file; `detail` says where it differs."""

    name: str
    state: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    name: str
    state: str
    files: tuple[FileResult, ...] = ()
    detail: str = ""

    def lines(self) -> Iterator[str]:
        compared = [file for file in self.files if file.state != LEFT_OUT]
        wrong = [file for file in compared if file.state != EQUAL]
        count = f"{len(wrong)} of {len(compared)} files" if wrong else f"{len(compared)} files"
        yield f"{self.state:<10} {self.name:<28} {count if compared else ''}".rstrip()
        if self.detail:
            yield f"    {self.detail}"
        for file in wrong:
            yield f"    {file.name}: {file.detail or file.state}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    options = _options(arguments)
    cases = _chosen(all_cases(), options.only)
    if not cases:
        print(f"compare_exports: no case is called like {', '.join(options.only)}; see --list.", file=sys.stderr)
        return 2
    if options.list:
        for case in cases:
            print(f"{case.name:<28} {shlex.join(case.arguments)}")
        return 0
    try:
        trees = {"reference": find_tree(options.reference)}
        if not options.reference_only:
            trees["candidate"] = find_tree(options.candidate)
    except RunError as error:
        print(f"compare_exports: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as place:
        work = (options.work or Path(place)).resolve()
        try:
            results = _compare_all(cases, trees, work, options.jobs)
        except RunError as error:
            print(f"compare_exports: {error}", file=sys.stderr)
            return 1
    counts = Counter(result.state for result in results)
    total = sum(len(result.files) for result in results)
    good = counts[EQUAL] + counts[MADE]
    print(f"{good} of {len(results)} cases {MADE if options.reference_only else f'{EQUAL}, {total} files'}")
    if options.json:
        revisions = {"reference": options.reference, "candidate": options.candidate}
        document = {**revisions, "trees": trees, "counts": counts, "cases": [asdict(result) for result in results]}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if good == len(results) else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0], allow_abbrev=False)
    add = parser.add_argument
    add("reference", nargs="?", metavar="REFERENCE", help="a git revision")
    add("candidate", nargs="?", default="HEAD", metavar="CANDIDATE", help=f"another, or {WORKTREE} (default HEAD)")
    add("--work", type=Path, metavar="FOLDER", help="where results stay (default: nowhere)")
    add("--only", action="append", default=[], metavar="PATTERN", help="such as 'bert-*'; may be repeated")
    add("--list", action="store_true", help="print the cases and their commands")
    add("--reference-only", action="store_true", help="make the reference's files, for comparisons to come")
    add("--jobs", type=int, default=2, metavar="N", help="commands at a time (default 2)")
    add("--json", type=Path, metavar="FILE", help="write the state of every file")
    options = parser.parse_args(arguments)
    if options.reference is None and not options.list:
        parser.error("REFERENCE is needed: the revision to compare with.")
    if options.reference_only and options.work is None:
        parser.error("--reference-only needs --work, where the files stay.")
    if options.jobs < 1:
        parser.error(f"--jobs must be at least 1. Received: {options.jobs}.")
    return options


def _chosen(cases: tuple[Case, ...], patterns: Sequence[str]) -> tuple[Case, ...]:
    """The cases with these names, and those they need."""
    wanted = {case.name for case in cases if not patterns or any(fnmatchcase(case.name, one) for one in patterns)}
    for case in reversed(cases):
        if case.name in wanted:
            wanted.update(case.needs)
    return tuple(case for case in cases if case.name in wanted)


def _compare_all(cases: tuple[Case, ...], trees: Mapping[str, str], work: Path, jobs: int) -> list[CaseResult]:
    given = inputs()
    keys = keys_of(cases, given)
    runs = {role: open_run(work, role, tree, keys) for role, tree in trees.items()}
    for run in runs.values():
        if any(run.recorded(case) is None for case in cases):
            run.prepare(given)
    results = []
    with closing(Commands(runs, jobs)) as commands:
        for case, outcomes in commands.start(cases).items():
            if len(outcomes) == 1:
                result = _made(case, outcomes[0].result())
            else:
                result = _compare(case, runs, [outcome.result() for outcome in outcomes])
            results.append(result)
            print("\n".join(result.lines()), flush=True)
            if case.name == EYES:
                _show(list(runs.values())[-1].printed(case))
    return results


class Commands:
    """The commands of all runs, `jobs` at a time."""

    def __init__(self, runs: Mapping[str, Run], jobs: int) -> None:
        self._runs, self._pool = runs, ThreadPoolExecutor(jobs)
        self._started: dict[tuple[str, str], Future[Outcome]] = {}
        self._free: dict[str, list[Launcher]] = {role: [] for role in runs}

    def start(self, cases: tuple[Case, ...]) -> dict[Case, list[Future[Outcome]]]:
        """The outcomes of each case, one per run. No deadlock: what a case needs was started before it."""
        for case in cases:
            for role in self._runs:
                self._started[role, case.name] = self._pool.submit(self._run, role, case)
        return {case: [self._started[role, case.name] for role in self._runs] for case in cases}

    def _run(self, role: str, case: Case) -> Outcome:
        known = self._runs[role].recorded(case)
        if known is not None:
            return known
        for name in case.needs:
            if self._started[role, name].result().failed:
                return Outcome(exit_code=-1, seconds=0.0, error=f"needs {name}, which failed")
        free = self._free[role]  # lists are safe to share: pop and append are atomic
        launcher = free.pop() if free else Launcher(self._runs[role])
        outcome = self._runs[role].run(case, launcher)
        free.append(launcher)
        return outcome

    def close(self) -> None:
        """Waits for the running commands."""
        self._pool.shutdown(cancel_futures=True)
        for launcher in chain.from_iterable(self._free.values()):
            launcher.close()


def _show(path: Path) -> None:
    """Prints what a command printed."""
    print("".join(f"    | {line}\n" for line in path.read_text(encoding="utf-8").splitlines()), end="")


def _made(case: Case, outcome: Outcome) -> CaseResult:
    """The result if there is nothing to compare with."""
    detail = f"exit code {outcome.exit_code}: {outcome.error}" if outcome.exit_code else ""
    return CaseResult(name=case.name, state=FAILED if outcome.failed else MADE, detail=detail)


def _compare(case: Case, runs: Mapping[str, Run], outcomes: Sequence[Outcome]) -> CaseResult:
    reference, candidate = outcomes
    if reference.failed:
        return CaseResult(
            name=case.name, state=FAILED, detail=f"reference: exit code {reference.exit_code}: {reference.error}"
        )
    files = tuple(_compare_files(*(_files(case, run) for run in runs.values()), list(runs.values())))
    detail = ""
    if reference.exit_code != candidate.exit_code:
        detail = f"exit code {reference.exit_code} -> {candidate.exit_code}: {candidate.error}"
    same = not detail and all(file.state in (EQUAL, LEFT_OUT) for file in files)
    return CaseResult(name=case.name, state=EQUAL if same else DIFFERENT, files=files, detail=detail)


def _files(case: Case, run: Run) -> dict[str, Path]:
    folder = run.output(case)
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return found | ({case.prints: run.printed(case)} if case.prints and run.printed(case).is_file() else {})


def _compare_files(before: Mapping[str, Path], after: Mapping[str, Path], runs: Sequence[Run]) -> Iterator[FileResult]:
    for name in sorted({*before, *after}):
        kind = Path(name).name
        if kind in SKIPPED:
            yield FileResult(name=name, state=LEFT_OUT, detail=SKIPPED[kind])
        elif name not in after or name not in before:
            yield FileResult(name=name, state=ABSENT if name in before else ADDED)
        else:
            contents = before[name].read_bytes(), after[name].read_bytes()
            detail = _bytes_difference(*contents)
            if detail and kind in VOLATILE:
                values = (_stable(content, kind, run) for content, run in zip(contents, runs, strict=True))
                detail = _value_difference(*values)
            yield FileResult(name=name, state=DIFFERENT if detail else EQUAL, detail=detail)


def _bytes_difference(before: bytes, after: bytes) -> str:
    """Sizes and the first offset that differs; empty if nothing does."""
    if before == after:
        return ""
    pairs = enumerate(zip_longest(before, after))
    offset = next(place for place, (one, other) in pairs if one != other)
    return f"{len(before):,} -> {len(after):,} bytes, first difference at {offset:,}"


def _value_difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The first differing values of two JSON files; empty if they are equal, in order too."""
    found = [
        f"{place}: {json.dumps(before.get(place, ABSENT))} -> {json.dumps(after.get(place, ABSENT))}"
        for place in dict.fromkeys((*before, *after))
        if before.get(place, ABSENT) != after.get(place, ABSENT)
    ]
    if not found and list(before) != list(after):
        return "the same values in another order"
    return "; ".join(found[:SHOWN]) + (f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else "")


def _stable(content: bytes, kind: str, run: Run) -> dict[str, Any]:
    """Place -> value of a JSON file, without volatile ones. Of paths into the checkout only the name: folders move."""
    patterns = [re.compile(re.escape(pattern).replace(r"\*", r"[^.]*") + r"(\..*)?") for pattern in VOLATILE[kind]]
    return {
        place: Path(value).name if isinstance(value, str) and value.startswith(str(run.checkout)) else value
        for place, value in _leaves(json.loads(content))
        if not any(pattern.fullmatch(place) for pattern in patterns)
    }


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not value or not items:
        yield place, value
    for key, item in items:
        yield from _leaves(item, f"{place}.{key}" if place else str(key))


if __name__ == "__main__":
    sys.exit(main())
