"""The picture of an explanation, as SVG: one row per layer, words as cells that fade where they drop out."""

from collections.abc import Sequence

from exporters.explanation.run import ExplainedText, Word, survivors
from exporters.explanation.text import blocks, columns, layer_names, notes, shown
from exporters.report.svg import words

CHART = "words.svg"
_NAMESPACE = "http://www.w3.org/2000/svg"
_FONT = "font-family:Menlo,Consolas,'DejaVu Sans Mono',monospace"
_MARGIN, _NAMES, _ROW, _GAP, _TOP = 20, 104, 24, 18, 72
# Width of a character at size 12, and the space around a word.
_LETTER, _PADDING, _SPACE = 7.3, 6, 3
_WIDTH = 860
# Blue for a word that goes on, pale where only a part of it does; gray for one that ends here (Okabe and Ito's blue).
_WHOLE, _PART, _ENDS = ("#0072b2", "#ffffff"), ("#b9dcf0", "#003a5c"), ("#eeeeee", "#aaaaaa")


def svg(texts: Sequence[ExplainedText]) -> str:
    """All texts, one below the other."""
    body, bottom = list[str](), float(_TOP)
    for text in texts:
        lines, bottom = _text(text, bottom)
        body += lines
    width, height = _MARGIN * 2 + _NAMES + _WIDTH, bottom
    title = "Words that go on from layer to layer"
    box = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    lines = [
        f'<svg xmlns="{_NAMESPACE}" {box} style="{_FONT}">',
        f"<title>{title}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        words(_MARGIN, 30, title, size=16, weight="bold"),
        *_legend(),
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _legend() -> list[str]:
    lines, x = [], float(_MARGIN)
    for colors, meaning in ((_WHOLE, "goes on"), (_PART, "some of its pieces go on"), (_ENDS, "is dropped here")):
        width = columns(meaning) * _LETTER + 2 * _PADDING
        lines.append(_cell(x, 42, width, meaning, colors))
        x += width + 10
    return lines


def _text(text: ExplainedText, top: float) -> tuple[list[str], float]:
    """One text, drawn from `top` on, and where the next one begins."""
    lines, rows = list[str](), layer_names(text)
    for number, block in enumerate(blocks(text.words, _WIDTH, _width, _SPACE)):
        before = text.places
        for name, kept in rows:
            if number and not any(survivors(word, before) for word in block):
                break
            count = "" if number else f"{len(kept):>4}"
            lines.append(words(_MARGIN, top + 16, f"{name:<9}{count}", fill="#555555"))
            x = float(_MARGIN + _NAMES)
            for word in block:
                width = _width(word)
                if survivors(word, before):
                    left = survivors(word, kept)
                    colors = _ENDS if not left else _WHOLE if left == len(word.places) else _PART
                    lines.append(_cell(x, top, width, shown(word), colors))
                x += width + _SPACE
            top += _ROW
            before = kept
        top += _GAP / 2
    for note in notes(text):
        lines.append(words(_MARGIN, top + 12, note, weight="bold"))
        top += _ROW
    return lines, top + _GAP


def _width(word: Word) -> float:
    return columns(shown(word)) * _LETTER + 2 * _PADDING


def _cell(x: float, top: float, width: float, text: str, colors: tuple[str, str]) -> str:
    fill, ink = colors
    return (
        f'<rect x="{x:.1f}" y="{top + 1:.1f}" width="{width:.1f}" height="{_ROW - 4}" rx="3" fill="{fill}"/>'
        + words(x + width / 2, top + 15, text, anchor="middle", fill=ink)
    )
