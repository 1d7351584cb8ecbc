"""Which charts report.html has: bytes by layer, accuracy, confusions, reliability, accuracy by length, latency.

Each function takes values of a report and gives SVG; how it is drawn is in `charts.py`.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from exporters.report import charts, figures
from exporters.report.charts import WIDTH, color
from exporters.report.report import GRAPH, FileRecord, Latency, LayerBytes, StageScore
from exporters.verification.quality import ByLength, Confusion, Reliability

# Layers with a smaller share of the file are one box.
_SMALLEST_SHARE = 0.004
_TREEMAP_HEIGHT = 260
_ROW = 44
# Beyond this many labels a cell has no room for its number.
_NUMBERED_LABELS = 12
_LETTER = 8.8  # of a wide letter at the charts' font size
_SMALL = "small layers"
_KINDS_COLORED = 4


def kinds(file: FileRecord) -> dict[str, str]:
    """Kinds of layers (their names without a number) with a color each: the four largest, and one for the rest."""
    sizes: Counter[str] = Counter()
    for layer in file.layers:
        sizes[_kind(layer)] += layer.bytes
    smallest = _SMALLEST_SHARE * file.size_bytes
    large = [kind for kind, size in sizes.most_common() if kind != GRAPH and size >= smallest][:_KINDS_COLORED]
    return {kind: f"series-{number}" for number, kind in enumerate(large, 1)}


def _kind(layer: LayerBytes) -> str:
    return re.sub(r" \d+$", "", layer.name)


def treemap(file: FileRecord) -> str:
    """Bytes of a file by layer, as areas."""
    import squarify

    shown, colors = _merged(file.layers, file.size_bytes), kinds(file)
    sizes = squarify.normalize_sizes([layer.bytes for layer in shown], WIDTH, _TREEMAP_HEIGHT)
    boxes = squarify.squarify(sizes, 0, 0, WIDTH, _TREEMAP_HEIGHT)

    def paint(figure: Any) -> None:
        from matplotlib.patches import Rectangle

        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(_TREEMAP_HEIGHT, 0))
        axes.axis("off")
        for number, (layer, box) in enumerate(zip(shown, boxes, strict=True)):
            x, y, width, height = box["x"], box["y"], box["dx"], box["dy"]
            axes.add_patch(
                Rectangle(
                    (x + 1, y + 1),
                    max(width - 2, 0.5),
                    max(height - 2, 0.5),
                    facecolor=color(colors.get(_kind(layer), "series-5")),
                    linewidth=0,
                    gid=f"tip-{number}",
                )
            )
            size = figures.short_size(layer.bytes)
            if width > _LETTER * max(len(layer.name), len(size)) + 10 and height > 38:
                for line, words in enumerate((layer.name, size)):
                    axes.text(x + 8, y + 18 + 16 * line, words, color=color("on-series"), va="baseline")

    tips = [f"{layer.name}: {layer.bytes:,} bytes, {100 * layer.bytes / file.size_bytes:.1f} %" for layer in shown]
    return charts.draw(f"treemap {file.name}", f"Bytes of {file.name} by layer", _TREEMAP_HEIGHT, paint, tips)


def _merged(layers: Sequence[LayerBytes], size: int) -> list[LayerBytes]:
    """Largest first; small ones together."""
    large = [layer for layer in layers if layer.bytes >= _SMALLEST_SHARE * size]
    small = [layer for layer in layers if 0 < layer.bytes < _SMALLEST_SHARE * size]
    if len(small) > 1:
        large.append(LayerBytes(name=f"{len(small)} {_SMALL}", bytes=sum(layer.bytes for layer in small)))
    else:
        large += small
    return sorted(large, key=lambda layer: -layer.bytes)


def accuracy(stages: Sequence[StageScore]) -> str:
    """Each stage with its interval; the dashed line is the reference."""
    height = _ROW * len(stages) + 30
    ends = [end for stage in stages for end in (stage.score.interval or (stage.score.value,) * 2)]
    margin = max(0.5, 0.08 * (max(ends) - min(ends)))

    def paint(figure: Any) -> None:
        axes = _rows(figure, len(stages), height)
        axes.set_xlim(min(ends) - margin, max(ends) + margin)
        reference = stages[0].score.value
        for row, stage in enumerate(stages):
            # Beside each mark, so that it does not strike out the names.
            axes.plot(
                (reference,) * 2, (row - 0.2, row + 0.25), color=color("muted"), linestyle=(0, (3, 3)), linewidth=1
            )
            shade = color("series-1" if row == 0 else "series-2")
            if stage.score.interval is not None:
                axes.plot(
                    stage.score.interval, (row, row), color=shade, linewidth=3, solid_capstyle="round", alpha=0.45
                )
            axes.plot(stage.score.value, row, "o", color=shade, markersize=9)
            _row_label(axes, row, charts.text(stage.stage, 44), figures.points(stage.score))

    return charts.draw("accuracy", "Accuracy of each stage with its 95 % interval", height, paint)


def latency(rows: Sequence[Latency]) -> str:
    """The median of each file, and the quartiles as a bar."""
    height = _ROW * len(rows) + 30
    most = max(time for row in rows for time in (row.median_ms, *(row.quartiles_ms or ())))

    def paint(figure: Any) -> None:
        axes = _rows(figure, len(rows), height)
        axes.set_xlim(0, 1.08 * most)
        for number, row in enumerate(rows):
            axes.plot((0, row.median_ms), (number, number), color=color("series-2"), linewidth=3, alpha=0.45)
            axes.plot(row.median_ms, number, "o", color=color("series-2"), markersize=9)
            if row.quartiles_ms is not None:
                axes.plot(row.quartiles_ms, (number, number), color=color("ink"), linewidth=2)
            _row_label(axes, number, charts.text(row.file, 34), f"{figures.milliseconds(row.median_ms)} ms")

    return charts.draw("latency", "Median latency of each file with quartiles", height, paint)


def _rows(figure: Any, count: int, height: float) -> Any:
    """Axes with one row each, names above the marks."""
    axes = figure.add_axes((0.02, 26 / height, 0.96, 1 - 30 / height), ylim=(count - 0.35, -0.75))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(length=0)
    axes.locator_params(axis="x", nbins=5)
    return axes


def _row_label(axes: Any, row: int, name: str, value: str) -> None:
    across = axes.get_yaxis_transform()
    axes.text(0, row - 0.36, name, transform=across, va="center")
    axes.text(1, row - 0.36, value, transform=across, va="center", ha="right", fontweight="bold")


def confusion(stage: str, found: Confusion) -> str:
    """Rows are labels, columns are answers; shades are shares of the row."""
    labels, counts = found.labels or (), found.counts or ()
    n = len(labels)
    names = [charts.text(label, 18) for label in labels]
    left = min(150, 12 + _LETTER * max(map(len, names)))
    side = min(WIDTH - left - 8, 40 + 56 * n)
    bottom = min(130, 16 + 0.8 * _LETTER * max(map(len, names)))
    height = side + bottom + 8
    numbers = n <= _NUMBERED_LABELS
    tips = [
        f"{labels[row]} answered with {labels[column]}: {counts[row][column]}"
        for row in range(n)
        for column in range(n)
    ]

    def paint(figure: Any) -> None:
        from matplotlib.patches import Rectangle

        axes = figure.add_axes((left / WIDTH, bottom / height, side / WIDTH, side / height), xlim=(0, n), ylim=(n, 0))
        axes.grid(visible=False)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        size = 12 if n <= 16 else 8
        axes.set_xticks(
            [i + 0.5 for i in range(n)], names, rotation=50, ha="right", rotation_mode="anchor", fontsize=size
        )
        axes.set_yticks([i + 0.5 for i in range(n)], names, fontsize=size)
        for row in range(n):
            total = max(1, sum(counts[row]))
            for column in range(n):
                value, gid = counts[row][column], f"tip-{row * n + column}"
                share = value / total
                shade = color("grid") if not value else color("series-1" if row == column else "bad")
                strength = 0.25 if not value else 0.25 + 0.75 * share
                box = Rectangle((column + 0.04, row + 0.04), 0.92, 0.92, linewidth=0, facecolor=shade, alpha=strength)
                box.set_gid(gid)
                axes.add_patch(box)
                if numbers and value:
                    ink = color("on-series") if share > 0.5 else color("ink")
                    axes.text(column + 0.5, row + 0.53, str(value), ha="center", va="center", color=ink)

    return charts.draw(f"confusion {stage}", f"Confusion matrix of {charts.text(stage)}", height, paint, tips)


def reliability(stages: Sequence[tuple[str, Reliability]]) -> str:
    """How often answers of each probability are right; the area of a dot is the number of answers."""
    height = 330

    def paint(figure: Any) -> None:
        axes = figure.add_axes((0.12, 0.14, 0.85, 0.83), xlim=(0, 102), ylim=(0, 104))
        axes.plot((0, 100), (0, 100), color=color("muted"), linestyle=(0, (3, 3)), linewidth=1)
        axes.set_xlabel("probability of the answer, %")
        axes.set_ylabel("right, %")
        axes.tick_params(length=0)
        for number, (_, found) in enumerate(stages):
            filled = [one for one in found.bins if one.n]
            total = sum(one.n for one in filled)
            x, y = [one.confidence for one in filled], [one.accuracy for one in filled]
            shade = color(f"series-{number + 1}")
            axes.plot(x, y, color=shade, linewidth=2, alpha=0.6)
            axes.scatter(x, y, s=[24 + 300 * one.n / total for one in filled], color=shade, alpha=0.75, linewidth=0)

    return charts.draw("reliability", "Reliability before and after quantization", height, paint)


def by_length(stages: Sequence[tuple[str, ByLength]]) -> str:
    """Accuracy of short and long texts, with intervals."""
    height = 300
    bins = stages[0][1].bins
    ends = [end for _, found in stages for one in found.bins for end in (one.interval or (one.accuracy or 0.0,))]

    def paint(figure: Any) -> None:
        lowest = max(0.0, min(ends) - 4)
        axes = figure.add_axes((0.12, 0.17, 0.85, 0.8), xlim=(-0.6, len(bins) - 0.4), ylim=(lowest, max(ends) + 2))
        axes.grid(visible=False, axis="x")
        axes.tick_params(length=0)
        axes.set_ylabel("right, %")
        axes.set_xlabel(f"length in {stages[0][1].unit}")
        names = [f"{one.low:g}" if one.low == one.high else f"{one.low:g} to {one.high:g}" for one in bins]
        axes.set_xticks(range(len(bins)), names)
        for number, (_, found) in enumerate(stages):
            shade = color(f"series-{number + 1}")
            for place, one in enumerate(found.bins):
                x = place + 0.22 * (number - (len(stages) - 1) / 2)
                if one.interval is not None:
                    axes.plot((x, x), one.interval, color=shade, linewidth=3, alpha=0.45, solid_capstyle="round")
                axes.plot(x, one.accuracy, "o", color=shade, markersize=8)

    return charts.draw("length", "Accuracy by length of the text", height, paint)
