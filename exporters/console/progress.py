"""Progress on stderr: one live line on a terminal, one line per finished stage elsewhere.

Keeps the seconds of each stage for the report. Lines can be held back until bad input is ruled out, so that its error
line stands alone. `rich` draws the live line and is imported only on a terminal.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from exporters.console.cleaning import clean, clean_line

_TIMES_A_SECOND = 5


class Progress:
    """`with progress.stage("convert"): ...`. `quiet` only keeps time, `held` prints at `release`.

    `every_seconds`: without a terminal, print a live line that often, for work that takes hours.
    """

    def __init__(
        self,
        *,
        stream: TextIO | None = None,
        quiet: bool = False,
        held: bool = False,
        every_seconds: float | None = None,
    ) -> None:
        self.seconds: dict[str, float] = {}
        self._stream = _Unbroken(stream if stream is not None else sys.stderr)
        self._quiet, self._every, self._said = quiet, every_seconds, time.monotonic()
        self._held: list[str] | None = [] if held else None
        self._is_live = not quiet and is_terminal(self._stream)
        self._stage: Callable[[], str] | None = None
        self._text: Callable[[], str] = str
        self._drawn: Any = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the block under `name`; a block that raises leaves no finished line behind."""
        start = time.perf_counter()
        around, self._stage = self._stage, lambda: _timed(name, time.perf_counter() - start)
        self._draw(self._stage)
        finished = False
        try:
            yield
            finished = True
        finally:
            self._stage = around
            self._draw(around)
            elapsed = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + elapsed
            if finished:
                self.line(_timed(name, elapsed))

    def line(self, text: str) -> None:
        """Print a line, such as a note on the data, above the live one."""
        if self._held is not None:
            self._held.append(text)
        elif not self._quiet:
            self._said = time.monotonic()
            self._draw(None)
            self._stream.write(clean(text) + "\n")
            self._stream.flush()
            self._draw(self._stage)

    def live(self, text: str) -> None:
        """Set the live line. Without a terminal: nothing, or a line every `every_seconds`."""
        if not self._is_live and self._every is not None and time.monotonic() - self._said >= self._every:
            self.line(text)
        self._draw(lambda: text)

    def release(self) -> None:
        """Print what was held back; hold back nothing more."""
        held, self._held = self._held or [], None
        for text in held:
            self.line(text)

    def close(self) -> None:
        """Remove the live line."""
        self._draw(None)

    def _draw(self, text: Callable[[], str] | None) -> None:
        """Make `text` the live line, called at every refresh; None removes it."""
        if not self._is_live:
            return
        if text is not None:
            self._text = text
            if self._drawn is None:
                self._drawn = _live_line(self._stream, lambda: self._text())  # noqa: PLW0108 - it changes
                self._drawn.start(refresh=True)
        elif self._drawn is not None:
            self._drawn.stop()
            self._drawn = None


def is_terminal(stream: Any) -> bool:
    """Whether a live line can be drawn on it."""
    return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"


def _timed(name: str, seconds: float) -> str:
    return f"{name:<44} {seconds:5.1f} s"


def _live_line(stream: "_Unbroken", text: Callable[[], str]) -> Any:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    class Still(Console):
        """Never hides the cursor: a killed process would leave the terminal without one."""

        def show_cursor(self, show: bool = True) -> bool:  # noqa: ARG002 - as the class above has it
            return False

    return Live(
        console=Still(file=cast("TextIO", stream), force_terminal=True),
        get_renderable=lambda: Text(clean_line(text()), no_wrap=True, overflow="ellipsis"),
        refresh_per_second=_TIMES_A_SECOND,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


class _Unbroken:
    """A stream that may lose its reader: the display ends, the work goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except (BrokenPipeError, ValueError):
            return len(text)

    def flush(self) -> None:
        with suppress(BrokenPipeError, ValueError):
            self._stream.flush()

    def isatty(self) -> bool:
        return not self._stream.closed and self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def encoding(self) -> str:
        return getattr(self._stream, "encoding", None) or "utf-8"
