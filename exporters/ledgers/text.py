"""A ledger for people: what the command prints, and Markdown."""

from exporters.ledgers.result import NOT_RUN, RAN, REFERENCE, Entry, Ledger
from exporters.report import tables
from exporters.report.escaping import markdown_text
from exporters.report.tables import Table

HEADER = (
    "file",
    "runtime",
    "runs",
    "largest difference",
    "mean",
    "allowed",
    "labels equal",
    "near a tie",
    "as Keras",
    "",
)
_LONGEST = 160
_TITLES = {REFERENCE: "reference", RAN: "yes", NOT_RUN: "not run"}


def blocks(result: Ledger) -> list[str | Table]:
    """What the command prints."""
    made: list[str | Table] = [Table(header=HEADER, rows=_rows(result), numbers=False)]
    return [*made, *_lines(result), verdict(result)]


def markdown(result: Ledger) -> str:
    """For a page or a job summary."""
    rows = [[markdown_text(cell) for cell in row] for row in _rows(result)]
    lines = "\n".join(f"- {markdown_text(line)}" for line in _lines(result))
    parts = [f"**{markdown_text(verdict(result))}**", tables.markdown(HEADER, rows), lines]
    return "\n\n".join(part for part in parts if part) + "\n"


def verdict(result: Ledger) -> str:
    """One line."""
    installed = sum(1 for runtime in result.runtimes if not runtime.missing) + (not result.keras)
    where = f"{installed} of {len(result.runtimes) + 1} runtimes, {result.rows} rows of {result.data}"
    if result.passed:
        return f"PASS: {where}"
    return f"FAIL: {len(result.failures)} of {len(result.entries)} entries, {where} (exit code {result.exit_code})"


def _lines(result: Ledger) -> list[str]:
    titles = {runtime.name: runtime.title for runtime in result.runtimes}
    said = [f"{one.file} in {titles[one.runtime]}: FAIL, {_cut(one.message)}" for one in result.failures]
    said += [
        f"{one.file} in {titles[one.runtime]}: {one.reason or one.status}. It said: {_cut(one.message)}"
        for one in result.entries
        if one.status not in (REFERENCE, RAN) and one.passed
    ]
    said += [
        f"not installed: {runtime.title}, needs {runtime.missing}" for runtime in result.runtimes if runtime.missing
    ]
    return [*said, *(f"note: {note}" for note in result.notes)]


def _rows(result: Ledger) -> list[list[str]]:
    titles = {runtime.name: f"{runtime.title} {runtime.version}" for runtime in result.runtimes}
    return [_row(entry, titles[entry.runtime]) for entry in result.entries]


def _row(entry: Entry, title: str) -> list[str]:
    end = "ok" if entry.passed and entry.meant else "FAIL" if not entry.passed else "not for it"
    if entry.max_abs is None:
        return [entry.file, title, _TITLES.get(entry.status, "no"), *["-"] * 6, end]
    return [
        entry.file,
        title,
        _TITLES[entry.status],
        f"{entry.max_abs:.4g}",
        f"{entry.mean_abs:.2g}",
        "-" if entry.tolerance is None else f"{entry.tolerance:.4g}",
        f"{entry.same} of {entry.labels}" if entry.labels else "-",
        str(entry.close) if entry.labels else "-",
        "-" if entry.keras_same is None or not entry.labels else f"{entry.keras_same} of {entry.labels}",
        end,
    ]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
