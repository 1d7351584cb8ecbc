"""A check for people: what the command prints, and the Markdown of a job summary."""

from collections.abc import Iterator

from exporters.checking.result import CheckedFile, CheckResult
from exporters.report import tables
from exporters.report.escaping import markdown_code, markdown_text
from exporters.report.tables import Table
from models_tf.tasks.score import metric_title, metric_unit

_LONGEST_TEXT = 80


def blocks(result: CheckResult) -> list[str | Table]:
    """What the command prints."""
    made: list[str | Table] = []
    for file in result.files:
        made += [f"{file.name}: {score(file)}, {file.size_bytes:,} bytes", *(f"  {line}" for line in _details(file))]
        if file.flips:
            more = f"; the first {len(file.flips)}" if file.flipped > len(file.flips) else ""
            made.append(f"  {file.flipped} rows were right before{more}:")
            made.append(Table(header=FLIPS, rows=_flips(file), numbers=False))
    made += [f"note: {note}" for note in result.notes]
    if result.updated:
        made.append(f"written: {result.updated}")
    made.append(verdict(result))
    return made


def markdown(result: CheckResult) -> str:
    """For a job summary or a comment: the verdict first, then a table, then what flipped."""
    rows = [
        (
            markdown_code(file.name),
            score(file),
            f"{file.size_bytes:,}",
            "-" if file.drop is None else f"{file.drop.points:+.2f} ({file.drop.low:+.2f} to {file.drop.high:+.2f})",
            "-" if file.timing is None or file.timing.ratio is None else f"{file.timing.ratio:.2f}",
            "pass" if all(one.passed for one in file.verdicts) else "**fail**",
        )
        for file in result.files
    ]
    parts = [
        f"**{markdown_text(verdict(result))}**",
        tables.markdown(("file", "score (95 %)", "bytes", "drop in points (95 %)", "time", ""), rows),
    ]
    for name, failed in result.failures:
        parts.append(f"- {markdown_code(name)} {failed.gate}: {markdown_text(failed.message)}")
    for file in result.files:
        if file.flips:
            parts.append(f"{file.flipped} rows of {markdown_code(file.name)} were right before:")
            parts.append(tables.markdown(FLIPS, [[markdown_text(cell) for cell in row] for row in _flips(file)]))
    if result.notes:
        parts.append("\n".join(f"- {markdown_text(note)}" for note in result.notes))
    return "\n\n".join(parts) + "\n"


FLIPS = ("data row", "text", "expected", "before", "now")


def verdict(result: CheckResult) -> str:
    """One line."""
    against = f" against {result.compared}" if result.compared else ""
    if result.passed:
        return f"PASS: {_count(result)}{against}"
    failed = "; ".join(f"{name}: {one.gate}" for name, one in result.failures)
    return f"FAIL{against}: {failed} (exit code {result.exit_code})"


def score(file: CheckedFile) -> str:
    unit = metric_unit(file.metric)
    return (
        f"{metric_title(file.metric, file.label_threshold)} {file.value:.2f}{unit} of {file.n} rows "
        f"(95 %: {file.low:.2f} to {file.high:.2f})"
    )


def _details(file: CheckedFile) -> Iterator[str]:
    if file.more:
        yield f"also: {', '.join(f'{metric_title(name)} {value:.2f}' for name, value in file.more.items())}"
    for one in file.verdicts:
        yield f"{one.gate}: {'ok' if one.passed else 'FAIL'}, {one.message}"
    needed = None if file.drop is None or file.drop.is_real else file.drop.needed_rows
    if file.drop is not None and needed is not None:
        yield (f"{file.drop.n} rows are too few to see a drop of {file.drop.limit:g} points: about {needed:,} would do")
    if file.timing is not None:
        ratio = "" if file.timing.ratio is None else f", {file.timing.ratio:.2f} times the other's"
        yield f"time: {file.timing.median_ms:.3f} ms of processor time for one row{ratio}"


def _flips(file: CheckedFile) -> list[list[str]]:
    return [[str(flip.row), _cut(flip.text), flip.label, flip.before, flip.after] for flip in file.flips]


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TEXT else line[: _LONGEST_TEXT - 1] + "…"


def _count(result: CheckResult) -> str:
    return f"{len(result.files)} file{'s' if len(result.files) > 1 else ''}"
