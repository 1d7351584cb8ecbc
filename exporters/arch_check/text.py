"""A check on another processor for people: what the command prints, and the Markdown of a job summary."""

from exporters.arch_check.result import ArchFile, CheckArchResult, Run
from exporters.checking.junit import Case
from exporters.report import tables
from exporters.report.escaping import markdown_code, markdown_text
from exporters.report.tables import Table

HEADER = ("file", "runtime", "runs", "largest difference", "allowed", "labels equal", "near a tie", "instructions", "")
_LONGEST = 90


def blocks(result: CheckArchResult) -> list[str | Table]:
    """What the command prints."""
    made: list[str | Table] = [Table(header=HEADER, rows=_rows(result), numbers=False)]
    made += [f"{name} {one.case}: FAIL, {one.message}" for name, one in result.failures]
    made += [f"{file.name} skipped in {run.runtime}: {run.skipped}" for file, run in _skipped(result)]
    made += [f"note: {note}" for note in result.notes]
    if result.updated:
        made.append(f"written: {result.updated}")
    made.append(verdict(result))
    return made


def markdown(result: CheckArchResult) -> str:
    """For a job summary or a comment."""
    rows = [[markdown_text(cell) for cell in row] for row in _rows(result)]
    parts = [f"**{markdown_text(verdict(result))}**", tables.markdown(HEADER, rows)]
    lines = [f"{markdown_code(name)} {one.case}: {markdown_text(one.message)}" for name, one in result.failures]
    lines += [f"{markdown_code(file.name)} skipped in {run.runtime}: {run.skipped}" for file, run in _skipped(result)]
    lines += [markdown_text(note) for note in result.notes]
    if lines:
        parts.append("\n".join(f"- {line}" for line in lines))
    return "\n\n".join(parts) + "\n"


def verdict(result: CheckArchResult) -> str:
    """One line."""
    count = f"{len(result.files)} file{'s' if len(result.files) > 1 else ''}"
    where = f"on {result.arch} ({result.processor}, {result.emulator})"
    if result.passed:
        return f"PASS: {count} {where}"
    failed = "; ".join(f"{name}: {one.case}" for name, one in result.failures)
    return f"FAIL {where}: {failed} (exit code {result.exit_code})"


def headline(file: ArchFile) -> str:
    """One line about a file."""
    ran = [run for run in file.runs if not run.skipped and not run.error]
    worst = max((run.max_abs or 0.0 for run in ran), default=0.0)
    return (
        f"{len(ran)} runtimes on {file.rows} rows, at most {worst:.4g} from this machine (allowed {file.tolerance:g})"
    )


def junit_cases(result: CheckArchResult) -> list[Case]:
    """A test case for each gate of each file in each runtime; what was skipped says why."""
    cases = []
    for file in result.files:
        cases.append(Case(file=file.name, name=result.arch, said=headline(file)))
        for one in file.verdicts:
            said, failed = (one.message, "") if one.passed else ("", one.message)
            cases.append(Case(file=file.name, name=one.case, gate=one.gate, said=said, failed=failed))
    cases += [Case(file=file.name, name=run.runtime, skipped=run.skipped) for file, run in _skipped(result)]
    return cases


def _skipped(result: CheckArchResult) -> list[tuple[ArchFile, Run]]:
    return [(file, run) for file in result.files for run in file.runs if run.skipped]


def _rows(result: CheckArchResult) -> list[list[str]]:
    return [_row(file, run) for file in result.files for run in file.runs]


def _row(file: ArchFile, run: Run) -> list[str]:
    start = [file.name, f"{run.runtime} {run.version}"]
    if run.skipped:
        return [*start, "skipped", *["-"] * 6]
    if run.error:
        return [*start, "NO: " + run.error[:_LONGEST], *["-"] * 5, "FAIL"]
    failed = any(not one.passed and one.runtime == run.runtime for one in file.verdicts)
    return [
        *start,
        "yes",
        f"{run.max_abs:.4g}",
        f"{file.tolerance:.4g}",
        f"{run.same} of {run.labels}" if run.labels else "-",
        str(run.close) if run.labels else "-",
        "-" if run.instructions is None else _count(run),
        "FAIL" if failed else "ok",
    ]


def _count(run: Run) -> str:
    return f"{run.instructions:,}" + ("" if run.ratio is None else f" ({run.ratio:.3f} times)")
