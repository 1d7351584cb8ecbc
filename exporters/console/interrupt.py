"""Ctrl-C, SIGTERM and a closed terminal (SIGHUP): remove what is unfinished, say one line with the outcome, leave.

A KeyboardInterrupt raised inside TensorFlow's imports or callbacks can be swallowed or turned into another error, so
the handler ends the process itself. Only the program installs it (`exporters/__main__.py`); a library must not.
"""

import os
import signal
import sys
from types import FrameType

from exporters.errors import EXIT_INTERRUPTED
from models_tf.folders import open_folders


def install(program: str) -> None:
    """Handle SIGINT, SIGTERM and SIGHUP from now on; a SIGHUP that the caller ignores, as nohup does, stays ignored."""

    def leave(number: int, _frame: FrameType | None = None) -> None:
        if _outcome_is_told:
            return  # only cleaning up is left, and another exit code would deny what was said
        if not open_folders.discard_all(then=lambda: leave(number)):
            return  # a commit is under way: it ends first, then `then` is called
        word = "interrupted" if number == signal.SIGINT else "terminated"
        line = f"{program}: {word}. {open_folders.outcome()}\n"
        try:
            # Of the live line; and the cursor, which is hidden while one is drawn.
            clear = "\r\033[K\033[?25h" if os.isatty(_terminal()) else ""
            os.write(_terminal(), (clear + line).encode(errors="backslashreplace"))
        except OSError:
            pass
        os._exit(EXIT_INTERRUPTED if number == signal.SIGINT else 128 + number)

    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGTERM, leave)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, leave)


_stderr: int | None = None
_outcome_is_told = False


def tell_outcome(told: bool) -> None:
    """Whether the command has written and said all that it will: from then on signals change nothing."""
    global _outcome_is_told  # noqa: PLW0603 - a signal handler has no other way to learn it
    _outcome_is_told = told


def set_terminal(descriptor: int | None) -> None:
    """Where the line goes while descriptor 2 belongs to the libraries."""
    global _stderr  # noqa: PLW0603 - a signal handler has no other way to learn it
    _stderr = descriptor


def _terminal() -> int:
    return _stderr if _stderr is not None else sys.__stderr__.fileno() if sys.__stderr__ else 2
