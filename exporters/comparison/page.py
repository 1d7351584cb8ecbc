"""A comparison as one page without network, with the style and the charts of report.html."""

from typing import Any

from exporters.comparison import text
from exporters.comparison.chart import panels
from exporters.comparison.result import Comparison
from exporters.report.html import environment


def page(found: Comparison) -> str:
    """The whole document."""
    values = {
        "found": found,
        "header": text.header(found),
        "rows": [
            (number, one, cells, number in found.frontier) for number, (one, cells) in enumerate(text.lines(found), 1)
        ],
        "picks": [_pick(found, name, number) for name, number in found.picks.items()],
        "limits": text.limits(found),
        "panels": panels(found),
        "about": [text.ABOUT_FRONTIER, *([text.ABOUT_INTERVAL] if found.metric else []), text.ABOUT_TIME],
    }
    return str(environment().get_template("compare.html").render(**values))


def _pick(found: Comparison, name: str, number: int) -> dict[str, Any]:
    """The number that the pick is made for is the large one."""
    one = found.candidates[number]
    return {"name": name, "file": one.name, "value": text.measure(one, name), "others": text.numbers(one)}
