"""`give_back`: returns memory that is no longer used to the system, between the steps of a job on a large model.

TensorFlow's graphs have reference cycles, and each may hold all weights: they go only when Python collects garbage.
And glibc keeps freed blocks of up to 32 MB, the size of most weights, for later: a process would grow with every step.

A collection walks all objects there are, and the libraries alone have half a million: `set_aside` leaves them out.
"""

import contextlib
import ctypes
import gc
import importlib
from collections.abc import Iterator


@contextlib.contextmanager
def set_aside(*libraries: str) -> Iterator[None]:
    """Loads the libraries, and searches neither them nor what else is there now for garbage until the block ends."""
    for name in libraries:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def give_back() -> None:
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):  # only glibc has it, and needs it
        ctypes.CDLL(None).malloc_trim(0)
