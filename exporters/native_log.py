"""Keeps the chatter of native libraries away from the user.

TensorFlow, its converter and the runtimes write to descriptors 1 and 2 directly. During the work both point to
nowhere; the command writes through copies of the real ones, so that `--json` is JSON and an error is one line.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from exporters import interrupt

_QUIET = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "GRPC_VERBOSITY": "ERROR",
}


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
    stdout = os.fdopen(os.dup(saved[0]), "w", encoding="utf-8", buffering=1)
    stderr = os.fdopen(os.dup(saved[1]), "w", encoding="utf-8", buffering=1)
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
