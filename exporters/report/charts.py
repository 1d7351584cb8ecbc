"""The charts of report.html: SVG drawn by matplotlib, with colors that the page sets, so that one picture serves light
and dark.

A color here is a placeholder that becomes a CSS variable. Text stays text (it can be searched and copied), and all of
it is shown as it is: matplotlib's own markup is off. A chart is 380 units wide, which is a phone's width. matplotlib is
imported when the first chart is drawn.
"""

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape

from exporters.console.cleaning import clean_line

WIDTH = 380
_FONT = 13
# Placeholder -> CSS variable. Greys that no one would choose, and none is part of another.
_COLORS = {
    "ink": "#010101",
    "muted": "#020202",
    "grid": "#030303",
    "surface": "#040404",
    "on-series": "#050505",
    "bad": "#060606",
    "series-1": "#070707",
    "series-2": "#080808",
    "series-3": "#090909",
    "series-4": "#0a0a0a",
    "series-5": "#0b0b0b",
}
_NAMES = {value: name for name, value in _COLORS.items()}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "font.size": _FONT,
    "axes.edgecolor": _COLORS["grid"],
    "axes.facecolor": "none",
    "axes.labelcolor": _COLORS["muted"],
    "axes.labelsize": _FONT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _COLORS["grid"],
    "grid.linewidth": 1,
    "text.color": _COLORS["ink"],
    "xtick.color": _COLORS["grid"],
    "ytick.color": _COLORS["grid"],
    "xtick.labelcolor": _COLORS["muted"],
    "ytick.labelcolor": _COLORS["muted"],
    "xtick.labelsize": _FONT,
    "ytick.labelsize": _FONT,
    "axes.linewidth": 1,
}


def color(name: str) -> str:
    """The placeholder of a CSS variable."""
    return _COLORS[name]


def draw(name: str, title: str, height: float, paint: Callable[[Any], None], tips: Sequence[str] = ()) -> str:
    """A picture of that height; `paint` gets the figure. What has the gid `tip-N` shows `tips[N]` under the pointer."""
    with _quiet():
        import matplotlib as mpl
        from matplotlib.figure import Figure

        # The salt makes the ids of each chart its own, and the same in every run.
        with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
            figure = Figure(figsize=(WIDTH / 72, height / 72))
            figure.patch.set_alpha(0)
            paint(figure)
            out = io.StringIO()
            figure.savefig(out, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return _clean(out.getvalue(), title, tips)


def text(value: str, longest: int = 60) -> str:
    """Text of users, for a label."""
    shown = clean_line(value)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Matplotlib speaks of its font cache, and of letters that its own font lacks: the reader's browser has them."""
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _clean(drawn: str, title: str, tips: Sequence[str]) -> str:
    """Inline SVG: CSS variables for colors, the page's font, a title, and no id that could exist twice."""
    picture = drawn[drawn.index("<svg") :]
    picture = re.sub(r'<svg [^>]*viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" role="img">', picture, count=1)
    picture = picture.replace(
        "<svg viewBox", f'<svg aria-label="{escape(clean_line(title), {chr(34): "&quot;"})}" viewBox', 1
    )
    picture = re.sub(r"#0(?P<one>[1-9ab])0(?P=one)0(?P=one)", lambda found: f"var(--{_NAMES[found[0]]})", picture)
    picture = re.sub(r"font-family: [^;\"]*", "font-family: inherit", picture)
    picture = re.sub(r"font: ([^';\"]*?)(px|pt) '[^;\"]*", r"font-size: \1px", picture)
    for number, tip in enumerate(tips):
        picture = picture.replace(f'<g id="tip-{number}">', f"<g><title>{escape(clean_line(tip))}</title>", 1)
    used = set(re.findall(r"(?:url\(|href=\")#([^)\"]*)", picture))
    return re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", picture).strip()
