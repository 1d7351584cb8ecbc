"""Keeps the chatter of native libraries away from the user.

TensorFlow, its converter and the runtimes write to descriptors 1 and 2 directly, out of reach for Python's logging. The
command closes both to them for the whole run (`quiet_native_output`); a library call holds back what one step says, and
shows it when the step fails (`quiet`).
"""

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from exporters.console import interrupt

_QUIET = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "GRPC_VERBOSITY": "ERROR",
}


def open_closed_streams() -> None:
    """Gives descriptors 0 to 2 that are closed (`>&-`) to nowhere: the next file opened would get their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)


@contextmanager
def quiet_native_output(*, enabled: bool) -> Iterator[tuple[TextIO, TextIO]]:
    """Gives the real stdout and stderr; with `enabled` nobody else reaches them inside the block."""
    if not enabled:
        yield sys.stdout, sys.stderr
        return
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    interrupt.set_terminal(saved[1])
    # A path may hold bytes that are no UTF-8; they are shown as escapes.
    stdout, stderr = (
        os.fdopen(os.dup(number), "w", encoding="utf-8", errors="backslashreplace", buffering=1) for number in saved
    )
    try:
        yield stdout, stderr
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        interrupt.set_terminal(None)
        for descriptor in saved:
            os.close(descriptor)
        for stream in (stdout, stderr):
            with suppress(BrokenPipeError):
                stream.close()


@contextmanager
def quiet() -> Iterator[None]:
    """Holds back everything written to stderr inside of the block; an exception lets it through."""
    _flush_stderr()
    previous_level = logging.root.manager.disable
    saved = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        logging.disable(logging.WARNING)
        failed = True
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
            failed = False
        finally:
            _flush_stderr()
            logging.disable(previous_level)
            os.dup2(saved, 2)
            os.close(saved)
            if failed and sys.stderr is not None:
                held.seek(0)
                sys.stderr.write(held.read().decode(errors="replace"))


def _flush_stderr() -> None:
    if sys.stderr is not None:  # as in programs without a terminal
        sys.stderr.flush()
