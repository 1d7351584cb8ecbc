"""`give_back`: returns memory that is no longer used to the system, between the steps of a job on a large model.

TensorFlow's graphs have reference cycles, and each may hold all weights: they go only when Python collects garbage.
And glibc keeps freed blocks of up to 32 MB, the size of most weights, for later: a process would grow with every step.
"""

import contextlib
import ctypes
import gc


def give_back() -> None:
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):  # only glibc has it, and needs it
        ctypes.CDLL(None).malloc_trim(0)
