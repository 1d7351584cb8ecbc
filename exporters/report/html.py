"""report.html: one page without files beside it and without network, for light and dark screens and for phones.

The page has no script, and its own policy forbids any. Jinja2 escapes every value; `charts.py` draws the pictures.
"""

import functools
from pathlib import Path
from typing import Any

from exporters.console.cleaning import clean_line
from exporters.explanation import chart as words_chart
from exporters.report import figures, pictures
from exporters.report.report import FileRecord, Report
from exporters.report.text import model_facts
from exporters.verification.quality import StageQuality

_TEMPLATES = Path(__file__).parent / "templates"


def page(report: Report) -> str:
    """The whole document."""
    return str(environment().get_template("report.html").render(**_values(report)))


@functools.cache
def environment() -> Any:
    """What renders a template: every value is escaped and cleaned. Other pages use it, too."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def shown(value: Any) -> Any:
        """What a value may put on the page: no control characters, whoever wrote them."""
        return clean_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    made = Environment(
        autoescape=True,
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"drawn": Markup}  # for SVG of ours, which escapes what it holds
    made.globals |= {"figures": figures}
    return made


def _values(report: Report) -> dict[str, Any]:
    lines = figures.file_lines(report)
    compared = figures.compared_qualities(report)
    confused = [one for one in compared[-1:] if one.confusion is not None and one.confusion.top]
    return {
        "report": report,
        "lines": lines,
        "first": lines[0] if lines else None,
        "facts": model_facts(report.model),
        "compared": compared,
        "colors": [(one.stage, f"series-{number}") for number, one in enumerate(compared, 1)],
        "confused": confused[0] if confused else None,
        "flipped": [one for one in report.quality if one.flipped is not None and one.flipped.total],
        "treemaps": [(file, pictures.treemap(file), _legend(file)) for file in report.model_files() if file.layers],
        "accuracy": pictures.accuracy(report.accuracy) if report.accuracy else "",
        "latency": _latency(report),
        "matrices": [
            (one.stage, pictures.confusion(one.stage, one.confusion))
            for one in compared
            if one.confusion is not None and one.confusion.counts is not None
        ],
        "reliability": _of(compared, "reliability", pictures.reliability),
        "by_length": _of(compared, "by_length", pictures.by_length),
        "words": words_chart.svg(report.explained) if report.explained else "",
    }


def _legend(file: FileRecord) -> list[tuple[str, str]]:
    """Kinds of layers with the color of each."""
    return [*pictures.kinds(file).items(), ("the rest", "series-5")]


def _latency(report: Report) -> str:
    rows = [line.latency for line in figures.file_lines(report) if line.latency is not None]
    return pictures.latency(rows) if rows else ""


def _of(compared: list[StageQuality], name: str, picture: Any) -> str:
    found = [(one.stage, getattr(one, name)) for one in compared if getattr(one, name) is not None]
    return str(picture(found)) if found else ""
