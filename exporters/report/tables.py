"""A table as a value, and how it reads: in Markdown, in plain text, and drawn on a terminal.

The one place where tables are drawn; which rows they have is the business of each report.
"""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from exporters.report.escaping import markdown_text


@dataclass(frozen=True, kw_only=True)
class Table:
    """The first column is text, the others are numbers unless `numbers` is false. The last row may be a `total`.

    `plain` are the lines that stand for the table where there is no terminal; without them it is aligned columns.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    plain: Sequence[str] | None = None
    numbers: bool = True
    total: bool = False


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The header is text, which may come from somebody else's report; cells may hold markup of ours."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    names = [markdown_text(name) for name in header]
    return "\n".join([line(names), line(["---"] * len(names)), *(line(row) for row in rows)])


def plain(blocks: Iterable[str | Table]) -> str:
    """Text and tables below each other, for a pipe or a file."""
    lines = list[str]()
    for block in blocks:
        lines += [block] if isinstance(block, str) else _columns(block) if block.plain is None else block.plain
    return "".join(f"{line}\n" for line in lines)


def _columns(table: Table) -> list[str]:
    from rich.console import Console

    out = io.StringIO()
    # Wide enough for every table: what reads a pipe does its own wrapping.
    Console(file=out, width=10_000, color_system=None, force_terminal=False).print(drawn(table, box=None))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def drawn(table: Table, *, box: Any) -> Any:
    """The table for rich, in a box of its kinds or in none."""
    from rich.table import Table as Drawn
    from rich.text import Text

    made = Drawn(
        box=box, padding=(0, 2, 0, 0) if box is None else (0, 1), pad_edge=box is not None, header_style="bold"
    )
    for number, name in enumerate(table.header):
        justify = "right" if number and table.numbers else "left"
        made.add_column(Text(name), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for number, row in enumerate(table.rows):
        if table.total and box is not None and number == len(table.rows) - 1:
            made.add_section()
        made.add_row(*map(Text, row))  # as `Text`: a label in square brackets is no markup
    return made
