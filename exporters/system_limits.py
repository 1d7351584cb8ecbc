"""What the system must allow a process before TensorFlow is imported: address space, open files, threads.

TensorFlow does not ask: without address space it ends in a segmentation fault, an abort or a lock that is never opened,
whatever runs out first. So the limits of the process (`ulimit`) are compared with what the smallest export was measured
to need. What a large model needs beyond that shows only later.
"""

import os
import sys
from pathlib import Path

from models_tf.errors import InputError

# `VmPeak` of an int8 export of a tiny PRADO: 2.8 GB, and 25 MB for each processor (thread pools are sized by them).
_ADDRESS_BYTES, _ADDRESS_BYTES_PER_PROCESSOR = 3 << 30, 32 << 20
_OPEN_FILES = 64  # an int8 export of a tiny PRADO in both formats had 23 open at once
_THREADS, _THREADS_PER_PROCESSOR = 8, 4  # 12 with two processors, 54 with 16
_UNLIMITED = -1


def check(purpose: str) -> None:
    """Raises InputError, "`purpose` needs ...", if a limit is below what every command with TensorFlow needs."""
    if sys.platform == "win32":
        return
    import resource

    processors = os.cpu_count() or 1
    wanted = _ADDRESS_BYTES + processors * _ADDRESS_BYTES_PER_PROCESSOR
    for name, kind in (("-v", resource.RLIMIT_AS), ("-d", resource.RLIMIT_DATA)):
        given = resource.getrlimit(kind)[0]
        if given not in (resource.RLIM_INFINITY, _UNLIMITED) and given < wanted:
            raise InputError(
                f"{purpose} needs {wanted >> 20:,} MB of address space at least. "
                f"Received: a limit of {given >> 20:,} MB (ulimit {name} {given >> 10}). Raise it, or run without it."
            )
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files not in (resource.RLIM_INFINITY, _UNLIMITED) and files < _OPEN_FILES:
        raise InputError(
            f"{purpose} needs {_OPEN_FILES} open files at least. "
            f"Received: a limit of {files} (ulimit -n {files}). Raise it."
        )
    threads, free = _THREADS + processors * _THREADS_PER_PROCESSOR, _free_threads()
    if free is not None and free < threads:
        raise InputError(
            f"{purpose} needs {threads} threads at least. Received: a limit that leaves {max(free, 0)} to this user "
            "(ulimit -u). Raise it, or end other processes."
        )


def _free_threads() -> int | None:
    """How many threads this user may still start; None if there is no limit, as for root, or it cannot be told."""
    import resource

    given = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if os.getuid() == 0 or given in (resource.RLIM_INFINITY, _UNLIMITED):
        return None
    used = 0
    try:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and entry.stat().st_uid == os.getuid():
                used += sum(1 for _ in (entry / "task").iterdir())
    except OSError:  # a process that ended meanwhile, or no /proc
        return None
    return given - used
