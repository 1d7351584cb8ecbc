"""Bar charts of a profile: as text, and as an SVG written by hand, so that no drawing library is needed."""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from exporters.profiling.report import Profile
from exporters.report.svg import words

CHART = "profile.svg"
_TEXT_WIDTH = 40
_FULL, _EIGHTHS = "█", " ▏▎▍▌▋▊▉"

# Distinct for color-blind readers too (Okabe and Ito), and in brightness when printed.
_COLORS = ("#56b4e9", "#0072b2", "#e69f00", "#d55e00")
_LABELS, _BARS, _MARGIN = 190, 520, 20
_BAR, _GAP, _TOP = 15, 14, 92
_NAMESPACE = "http://www.w3.org/2000/svg"
_FONT = "font-family:Helvetica,Arial,sans-serif"


def series(profile: Profile) -> dict[str, dict[str, float]]:
    """Shares of 1 by what is measured and by part; of each measure they add up to 1."""
    parts = [part.part for part in profile.parts]
    found = {
        "parameters": {part.part: part.parameters / max(profile.parameters, 1) for part in profile.parts},
        "multiply-adds": {part.part: part.multiply_adds / max(profile.multiply_adds, 1) for part in profile.parts},
    }
    for file in profile.files:
        if file.timing is not None:
            times = file.timing.parts
            found[f"time on {file.runtime}"] = {part: times[part].share if part in times else 0.0 for part in parts}
    return found


def percent(share: float) -> str:
    """With a digit where it would otherwise be nothing."""
    return "0 %" if share == 0 else f"{100 * share:.2f} %" if share < 0.001 else f"{100 * share:.1f} %"


def text(profile: Profile) -> str:
    """Bars of characters, grouped by part."""
    measured = series(profile)
    width = max(map(len, measured))
    blocks = []
    for part in profile.parts:
        lines = [part.part]
        lines += [
            f"  {name:<{width}}  {percent(shares[part.part]):>7}  {_bar(shares[part.part])}".rstrip()
            for name, shares in measured.items()
        ]
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def _bar(share: float) -> str:
    eighths = round(share * _TEXT_WIDTH * 8)
    return _FULL * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def svg(profile: Profile) -> str:
    """A picture of the same bars."""
    measured = series(profile)
    group = len(measured) * _BAR + _GAP
    width = _MARGIN + _LABELS + _BARS + 70 + _MARGIN
    bottom = _TOP + group * len(profile.parts)
    height = bottom + 56
    # The scale ends at the first tenth above the longest bar.
    longest = max((share for shares in measured.values() for share in shares.values()), default=1.0)
    scale = min(10, int(longest * 10) + 1)
    lines = [
        f'<svg xmlns="{_NAMESPACE}" width="{width}" height="{height}" viewBox="0 0 {width} {height}" style="{_FONT}">',
        f"<title>{escape(_title(profile))}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        words(_MARGIN, 30, _title(profile), size=16, weight="bold"),
        words(_MARGIN, 50, _subtitle(profile), fill="#555555"),
        *_legend(list(measured)),
        *_grid(scale, bottom),
    ]
    for number, part in enumerate(profile.parts):
        top = _TOP + number * group
        middle = top + (group - _GAP) / 2 + 4
        lines.append(words(_MARGIN + _LABELS - 10, middle, part.part, size=13, anchor="end"))
        for index, (name, shares) in enumerate(measured.items()):
            share, y = shares[part.part], top + index * _BAR
            length = share / (scale / 10) * _BARS
            lines.append(
                f'<rect x="{_MARGIN + _LABELS}" y="{y + 1}" width="{length:.1f}" height="{_BAR - 2}" '
                f'fill="{_COLORS[index % len(_COLORS)]}"><title>{escape(f"{part.part}, {name}: {percent(share)}")}'
                "</title></rect>"
            )
            lines.append(words(_MARGIN + _LABELS + length + 5, y + 11, percent(share), size=11))
    notes = f"{profile.rounds} interleaved rounds, one row, one thread, {profile.cpu}."
    lines += [words(_MARGIN, bottom + 40, notes, size=11, fill="#555555"), "</svg>"]
    return "\n".join(lines) + "\n"


def _title(profile: Profile) -> str:
    return f"What the parts of {profile.model['name']} cost"


def _subtitle(profile: Profile) -> str:
    model = profile.model
    return (
        f"{model['layers']} layers, {model['max_seq_len']} tokens, {profile.quantize}, "
        f"{profile.parameters:,} parameters, {profile.multiply_adds:,} multiply-adds"
    )


def _legend(names: list[str]) -> Iterator[str]:
    left = _MARGIN
    for index, name in enumerate(names):
        yield f'<rect x="{left}" y="62" width="12" height="12" fill="{_COLORS[index % len(_COLORS)]}"/>'
        yield words(left + 17, 72, name)
        left += 17 + 7 * len(name) + 22


def _grid(scale: int, bottom: int) -> Iterator[str]:
    step = 1 if scale <= 6 else 2
    for tenth in range(0, scale + 1, step):
        x = _MARGIN + _LABELS + tenth / scale * _BARS
        yield f'<line x1="{x:.1f}" y1="{_TOP - 6}" x2="{x:.1f}" y2="{bottom}" stroke="#dddddd"/>'
        yield words(x, bottom + 14, f"{10 * tenth} %", size=11, anchor="middle", fill="#555555")
