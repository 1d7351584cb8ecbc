"""Keeps the log lines of native libraries off the terminal, and shows them when something fails.

Python's logging cannot reach them: they are written to file descriptor 2 by C++ code.
"""

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Holds back everything written to stderr inside of the block; an exception lets it through."""
    sys.stderr.flush()
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
            sys.stderr.flush()
            logging.disable(previous_level)
            os.dup2(saved, 2)
            os.close(saved)
            if failed:
                held.seek(0)
                sys.stderr.write(held.read().decode(errors="replace"))
