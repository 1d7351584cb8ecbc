"""Where a command speaks: its result on stdout, everything else on stderr. All of it is cleaned here.

On a terminal `rich` draws; elsewhere, and with `NO_COLOR` or `TERM=dumb`, it is plain text. `rich` is imported when it
draws, so that `--help` does not wait for it.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterable
from typing import Any, TextIO

from exporters.console.cleaning import clean, clean_json, clean_line, without_commands
from exporters.console.progress import Progress, is_terminal
from exporters.report.tables import Table, drawn, plain

PIPE_WIDTH, NARROWEST = 100, 40
_WIDEST = 10_000


class Terminal:
    """The two streams of a command."""

    def __init__(self, stdout: TextIO, stderr: TextIO) -> None:
        self.stdout, self.stderr = stdout, stderr
        self._progress: Progress | None = None

    @property
    def width(self) -> int:
        """Columns for what wraps its own lines."""
        if not is_terminal(self.stdout):
            return PIPE_WIDTH
        import shutil

        return max(NARROWEST, shutil.get_terminal_size().columns)

    def show(self, blocks: str | Iterable[str | Table]) -> None:
        """A result: a text, or lines and tables."""
        parts: list[str | Table]
        parts = [clean(blocks.removesuffix("\n"))] if isinstance(blocks, str) else [_clean(block) for block in blocks]
        if not is_terminal(self.stdout):
            self._write(without_commands(plain(parts)))
            return
        from rich import box

        console = _console(self.stdout)
        for part in parts:
            if isinstance(part, Table):
                table = drawn(part, box=box.SIMPLE_HEAD)
                # In a narrow window lines run over; a number or a name cut in two would be worse.
                needed = console.measure(table, options=console.options.update(max_width=_WIDEST)).minimum
                _console(self.stdout, width=max(console.width, needed)).print(table)
            else:
                console.print(part, markup=False, highlight=False, soft_wrap=True)

    def commands(self, lines: Iterable[str]) -> None:
        """Our own words to a CI server, one on each line."""
        self._write("".join(f"{clean_line(line)}\n" for line in lines))

    def json(self, text: str) -> None:
        """A result for programs; the only thing that goes to stdout."""
        self._write(clean_json(text) + "\n")

    def note(self, text: str) -> None:
        """A remark beside the result."""
        with contextlib.suppress(BrokenPipeError, ValueError):
            self.stderr.write(clean(text) + "\n")
            self.stderr.flush()

    def error(self, program: str, message: str) -> None:
        """One line, whatever a library's message looks like."""
        error(self.stderr, program, message)

    def progress(self, *, quiet: bool, held: bool = False, every_seconds: float | None = None) -> Progress:
        self._progress = Progress(stream=self.stderr, quiet=quiet, held=held, every_seconds=every_seconds)
        return self._progress

    def close(self) -> None:
        """Take away a live line that an error left."""
        if self._progress is not None:
            self._progress.close()

    def _write(self, text: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # nobody reads: the exit code still tells
            self.stdout.write(text)
            self.stdout.flush()


def error(stream: TextIO, program: str, message: str) -> None:
    """`program: message` on one line; the name is red on a terminal."""
    line = without_commands(clean_line(" ".join(message.split())))
    with contextlib.suppress(BrokenPipeError, ValueError):
        if is_terminal(stream):
            from rich.text import Text

            _console(stream).print(Text.assemble((f"{program}: ", "bold red"), line), soft_wrap=True)
        else:
            stream.write(f"{program}: {line}\n")
            stream.flush()


def show_trace(stream: TextIO, trace: str) -> None:
    with contextlib.suppress(BrokenPipeError, ValueError):
        stream.write(clean(trace))


def _clean(block: str | Table) -> str | Table:
    if isinstance(block, str):
        return clean_line(block)
    return dataclasses.replace(
        block,
        header=[_cell(cell) for cell in block.header],
        rows=[[_cell(cell) for cell in row] for row in block.rows],
        plain=None if block.plain is None else [clean_line(line) for line in block.plain],
    )


def _cell(text: str) -> str:
    """Without commands already here: an escape that is added to a finished line would move its columns."""
    return without_commands(clean_line(text))


def _console(stream: TextIO, *, width: int | None = None) -> Any:
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR"))  # no bold either
    return Console(file=stream, width=width, force_terminal=True, color_system=None if plain else "auto")
