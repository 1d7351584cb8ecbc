"""The chart of a comparison: accuracy with its interval over size, and over latency, each file by its number."""

from collections.abc import Sequence
from typing import Any

from exporters.comparison.candidate import Accuracy, Candidate
from exporters.comparison.result import Comparison
from exporters.report import charts
from exporters.report.charts import color
from models_tf.tasks.score import metric_title

_PANEL, _KB = 250, 1024
# Beyond this ratio of the largest to the smallest value, a linear axis would crowd the small ones.
_LOG_FROM = 6.0

Point = tuple[int, Candidate, float, Accuracy]


def chart(found: Comparison) -> str:
    """Empty if no file has an accuracy."""
    panels = [
        (title, points)
        for title, points in (
            ("KB (1,024 bytes)", _points(found, lambda one: one.size_bytes / _KB)),
            ("ms for one row", _points(found, lambda one: one.latency_ms)),
        )
        if points
    ]
    if not panels:
        return ""

    def paint(figure: Any) -> None:
        made = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
        figure.subplots_adjust(left=0.13, right=0.98, top=0.98, bottom=0.5 / len(panels) / 4 + 0.03, hspace=0.3)
        for axes, (title, points) in zip(made, panels, strict=True):
            _panel(axes, title, points, found)

    tips = [f"{number}: {one.name}" for number, one, _, _ in (point for _, points in panels for point in points)]
    return charts.draw("comparison", "Accuracy over size and over latency", _PANEL * len(panels), paint, tips)


def _points(found: Comparison, value: Any) -> list[Point]:
    return [
        (number, one, float(value(one)), one.accuracy)
        for number, one in enumerate(found.candidates, 1)
        if one.accuracy is not None and value(one) is not None
    ]


def _panel(axes: Any, title: str, points: Sequence[Point], found: Comparison) -> None:
    values = [value for _, _, value, _ in points]
    if min(values) > 0 and max(values) / min(values) > _LOG_FROM:
        _logarithmic(axes)
    else:
        margin = 0.08 * (max(values) - min(values)) or 0.1 * max(values) or 1.0
        axes.set_xlim(min(values) - margin, max(values) + margin)
    axes.set_xlabel(title)
    axes.set_ylabel(metric_title(found.metric or ""))
    # Numbers above and below in turn, so that neighbours do not hide each other.
    order = {number: place for place, (number, *_) in enumerate(sorted(points, key=lambda point: point[2]))}
    for number, _, value, score in points:
        best = number - 1 in found.frontier
        shade = color("series-1" if best else "series-5")
        axes.plot((value, value), (score.low, score.high), color=shade, linewidth=2, alpha=0.45)
        fill = shade if best else color("surface")
        axes.plot(value, score.value, "o", color=shade, markerfacecolor=fill, markersize=8, markeredgewidth=1.5)
        above = order[number] % 2 == 0
        axes.annotate(
            str(number),
            (value, score.high if above else score.low),
            xytext=(0, 3 if above else -3),
            textcoords="offset points",
            ha="center",
            va="bottom" if above else "top",
            color=color("ink" if best else "muted"),
        )
    low, high = min(score.low for *_, score in points), max(score.high for *_, score in points)
    margin = 0.14 * (high - low) or 1.0
    axes.set_ylim(low - margin, high + margin)


def _logarithmic(axes: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
