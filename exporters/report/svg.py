"""Words in an SVG picture."""

from xml.sax.saxutils import escape

from exporters.console.cleaning import clean_line


def words(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 12,
    weight: str = "normal",
    anchor: str = "start",
    fill: str = "#000000",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{fill}" '
        f'xml:space="preserve">{escape(clean_line(text))}</text>'
    )
