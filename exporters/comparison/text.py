"""A comparison as text: the table of the terminal, and Markdown. Both draw the intervals with characters."""

from collections.abc import Sequence

from exporters.comparison.candidate import Accuracy, Candidate
from exporters.comparison.frontier import FASTEST, MOST_ACCURATE, SMALLEST
from exporters.comparison.result import Comparison
from exporters.console.cleaning import clean_line
from exporters.report import tables
from exporters.report.escaping import markdown_text
from exporters.report.tables import Table
from models_tf.tasks.score import metric_title, metric_unit

FRONTIER = "●"
ABOUT_FRONTIER = f"{FRONTIER} no other file is as good in size, accuracy and time and better in one of them."
ABOUT_INTERVAL = (
    "Accuracies with their 95 % intervals: where those overlap widely, the rows cannot tell the files apart."
)
ABOUT_TIME = "Times are those of the exporting machine: they do not predict a phone."
_WIDTH = 40
_LEFT, _LINE, _MIDDLE, _RIGHT = "├", "─", "●", "┤"


def blocks(found: Comparison) -> list[str | Table]:
    """What the command prints."""
    table = Table(header=["file", *header(found)], rows=[[clean_line(one.name), *row] for one, row in lines(found)])
    drawn = plot(found.candidates)
    return [table, "", *drawn, *([""] if drawn else []), *pick_lines(found), *(f"note: {note}" for note in found.notes)]


def markdown(found: Comparison) -> str:
    """For a pull request."""
    rows = [[markdown_text(cell) for cell in (one.name, *row)] for one, row in lines(found)]
    drawn = "\n".join(plot(found.candidates))
    parts = [
        "# Comparison",
        "\n".join(f"- {markdown_text(line)}" for line in pick_lines(found)),
        tables.markdown(["file", *header(found)], rows),
        f"{ABOUT_FRONTIER} {ABOUT_INTERVAL if found.metric else ''} {ABOUT_TIME}".replace("  ", " "),
        *([f"```\n{drawn.replace('```', chr(39) * 3)}\n```"] if drawn else []),
        "\n".join(f"- {markdown_text(note)}" for note in found.notes),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def header(found: Comparison) -> list[str]:
    accuracy = [f"{metric_title(found.metric)}", "95 % interval", "n"] if found.metric else []
    return ["model", "bytes", *accuracy, "ms", "frontier", "pick"]


def lines(found: Comparison) -> list[tuple[Candidate, list[str]]]:
    """Each candidate with its cells, in the order of the reports."""
    made = []
    for number, one in enumerate(found.candidates):
        score = cells(one.accuracy) if found.metric else []
        time = "" if one.latency_ms is None else f"{one.latency_ms:.3f}"
        mark = FRONTIER if number in found.frontier else ""
        picked = ", ".join(found.picks_of(number))
        known = [f"{one.source.model} {one.source.quantize}", f"{one.size_bytes:,}"]
        made.append((one, [*known, *score, time, mark, picked]))
    return made


def cells(score: Accuracy | None) -> list[str]:
    if score is None:
        return ["", "", ""]
    value = f"{score.value:.2f}{metric_unit(score.metric)}"
    return [value, f"{score.low:.2f} to {score.high:.2f}", str(score.n)]


def pick_lines(found: Comparison) -> list[str]:
    """One for each pick, with its three numbers."""
    made = []
    for name, number in found.picks.items():
        one = found.candidates[number]
        given = limits(found)
        made.append(f"{name}{f' ({given})' if given else ''}: {clean_line(one.name)} ({numbers(one)})")
        if name == MOST_ACCURATE:
            made += _as_good(found, number)
    return made


def _as_good(found: Comparison, best: int) -> list[str]:
    """Smaller files that the rows cannot tell from the most accurate one."""
    top = found.candidates[best]
    if top.accuracy is None:
        return []
    near = [
        clean_line(one.name)
        for one in found.candidates
        if one.accuracy is not None
        and one.size_bytes < top.size_bytes
        and found.limits.holds(one)
        and one.accuracy.high >= top.accuracy.value
    ]
    return [f"  smaller, and its interval reaches that: {name}" for name in near]


def numbers(one: Candidate) -> str:
    """Size, accuracy and time, as far as they are known."""
    return ", ".join(filter(None, (measure(one, name) for name in (SMALLEST, MOST_ACCURATE, FASTEST))))


def measure(one: Candidate, pick: str) -> str:
    """What a pick is made for."""
    if pick == SMALLEST:
        return f"{one.size_bytes:,} bytes"
    if pick == MOST_ACCURATE:
        return "" if one.accuracy is None else f"{one.accuracy.value:.2f}{metric_unit(one.accuracy.metric)}"
    return "" if one.latency_ms is None else f"{one.latency_ms:.3f} ms"


def limits(found: Comparison) -> str:
    """Those that were given, in words."""
    given = found.limits
    parts = [
        f"at most {given.max_size_bytes:,} bytes" if given.max_size_bytes is not None else "",
        f"at most {given.max_latency_ms:g} ms" if given.max_latency_ms is not None else "",
        f"at least {given.min_accuracy:g} points" if given.min_accuracy is not None else "",
    ]
    return ", ".join(filter(None, parts))


def plot(candidates: Sequence[Candidate]) -> list[str]:
    """Values and intervals on one axis, a line for each file."""
    scored = [(one, one.accuracy) for one in candidates if one.accuracy is not None]
    if not scored:
        return []
    low, high = min(score.low for _, score in scored), max(score.high for _, score in scored)
    names = [clean_line(one.name) for one, _ in scored]
    width = max(map(len, names))
    span = (high - low) or 1.0

    def place(value: float) -> int:
        return round((value - low) / span * (_WIDTH - 1))

    axis = f"{'':<{width}}  {low:<{_WIDTH // 2}.2f}{high:>{_WIDTH // 2}.2f}"
    made = [axis]
    for name, (_, score) in zip(names, scored, strict=True):
        first, middle, last = place(score.low), place(score.value), place(score.high)
        row = [" "] * _WIDTH
        row[first : last + 1] = _LINE * (last + 1 - first)
        row[first], row[last], row[middle] = _LEFT, _RIGHT, _MIDDLE
        made.append(f"{name:<{width}}  {''.join(row).rstrip()}")
    return made
