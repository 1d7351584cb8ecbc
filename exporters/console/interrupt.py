"""Ctrl-C and SIGTERM while the command exports: remove what is unfinished, say one line, leave.

A KeyboardInterrupt raised inside TensorFlow's imports or callbacks can be swallowed or turned into another error, so
the handler ends the process itself. Only the command installs it; a library must not.
"""

import os
import signal
import sys
from types import FrameType

from exporters.console import output_folder as output
from exporters.errors import EXIT_INTERRUPTED


def install(program: str) -> None:
    """Handle SIGINT and SIGTERM from now on."""

    def leave(number: int, _frame: FrameType | None) -> None:
        if not output.discard_all():
            return  # the output folder is being renamed: the run is complete in a moment
        word = "interrupted" if number == signal.SIGINT else "terminated"
        try:
            clear = "\r\033[K" if os.isatty(_terminal()) else ""  # of the live line
            os.write(_terminal(), f"{clear}{program}: {word}. {output.outcome()}\n".encode(errors="backslashreplace"))
        except OSError:
            pass
        os._exit(EXIT_INTERRUPTED if number == signal.SIGINT else 128 + number)

    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGTERM, leave)


_stderr: int | None = None


def set_terminal(descriptor: int | None) -> None:
    """Where the line goes while descriptor 2 belongs to the libraries."""
    global _stderr  # noqa: PLW0603 - a signal handler has no other way to learn it
    _stderr = descriptor


def _terminal() -> int:
    return _stderr if _stderr is not None else sys.__stderr__.fileno() if sys.__stderr__ else 2
