"""The chart of a comparison: accuracy with its interval over size, and over latency, each file by its number."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from exporters.comparison.candidate import Accuracy, Candidate
from exporters.comparison.result import Comparison
from exporters.report import charts
from exporters.report.charts import color
from exporters.report.figures import short_size
from models_tf.tasks.score import metric_title

_HEIGHT = 300
# Shares of the width below which two numbers would touch.
_NEAR = 0.09
_LINE = 13
# Beyond this ratio of the largest to the smallest value, a linear axis would crowd the small ones.
_LOG_FROM = 6.0

Point = tuple[int, Candidate, float, Accuracy]


def panels(found: Comparison) -> list[tuple[str, str]]:
    """Title and picture of each measure that files with an accuracy have."""
    measures: tuple[tuple[str, Axis, Callable[[Candidate], float | None]], ...] = (
        ("size", SIZE, lambda one: one.size_bytes),
        ("latency", LATENCY, lambda one: one.latency_ms),
    )
    drawn = []
    for name, axis, value in measures:
        points = _points(found, value)
        if points:
            title = f"{metric_title(found.metric or '').capitalize()} over {name}"
            tips = [f"{number}: {one.name}" for number, one, _, _ in points]
            paint = functools.partial(_panel, axis=axis, points=points, found=found)
            drawn.append((title, charts.draw(f"comparison {name}", title, _HEIGHT, paint, tips)))
    return drawn


def _points(found: Comparison, value: Callable[[Candidate], float | None]) -> list[Point]:
    return [
        (number, one, known, one.accuracy)
        for number, one in enumerate(found.candidates, 1)
        if one.accuracy is not None and (known := value(one)) is not None
    ]


def _panel(figure: Any, *, axis: "Axis", points: Sequence[Point], found: Comparison) -> None:
    axes = figure.add_axes((0.13, 0.1, 0.84, 0.88))
    axis.scale(axes, [value for _, _, value, _ in points])
    for place, (number, _, value, score) in enumerate(points):
        best = number - 1 in found.frontier
        shade = color("series-1" if best else "series-5")
        axes.plot((value, value), (score.low, score.high), color=shade, linewidth=2, alpha=0.45)
        fill = shade if best else color("surface")
        axes.plot(value, score.value, "o", color=shade, markerfacecolor=fill, markersize=8, gid=f"tip-{place}")
    low, high = min(score.low for *_, score in points), max(score.high for *_, score in points)
    margin = 0.08 * (high - low) or 1.0
    axes.set_ylim(low - margin, high + 2 * margin)
    for place, near in enumerate(_neighbours(axes, points)):
        axes.annotate(
            ", ".join(map(str, sorted(number for number, *_ in near))),
            (sum(value for _, _, value, _ in near) / len(near), max(score.high for *_, score in near)),
            xytext=(0, 3 + _LINE * (place % 2)),  # in turn, as labels are wider than their points
            textcoords="offset points",
            ha="center",
            va="bottom",
            color=color("ink" if any(number - 1 in found.frontier for number, *_ in near) else "muted"),
        )


def _neighbours(axes: Any, points: Sequence[Point]) -> list[list[Point]]:
    """Points that are so close that their numbers would hide each other share one label."""
    to_share = axes.transScale + axes.transLimits  # of the axes' width
    places = {number: float(to_share.transform((value, 1.0))[0]) for number, _, value, _ in points}
    groups: list[list[Point]] = []
    for point in sorted(points, key=lambda point: places[point[0]]):
        if groups and places[point[0]] - places[groups[-1][0][0]] < _NEAR:
            groups[-1].append(point)
        else:
            groups.append([point])
    return groups


@dataclass(frozen=True, kw_only=True)
class Axis:
    """`base` of a logarithmic axis: 2 where the unit is one of storage."""

    base: int
    shown: Callable[[float], str]

    def scale(self, axes: Any, values: Sequence[float]) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

        low, high = min(values), max(values)
        if low > 0 and high / low > _LOG_FROM:
            margin = (high / low) ** 0.08
            axes.set_xscale("log")
            axes.set_xlim(low / margin, high * margin)
            # At most one label per fifth of the axis.
            step = self.base ** max(1, round(math.log(high / low, self.base) / 5))
            axes.xaxis.set_major_locator(
                LogLocator(base=step, subs=(1, 2, 5) if step == 10 and high < 50 * low else (1,))
            )
            axes.xaxis.set_minor_locator(NullLocator())
        else:
            margin = 0.08 * (high - low) or 0.1 * high or 1.0
            axes.set_xlim(low - margin, high + margin)
            axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: self.shown(value)))


SIZE = Axis(base=2, shown=lambda value: short_size(round(value)))
LATENCY = Axis(base=10, shown=lambda value: f"{value:g} ms")
