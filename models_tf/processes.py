"""Processes that end with the one that started them, however that ends: by itself, by a signal, or killed.

Linux sends a process the signal it asked for when its parent is gone (PR_SET_PDEATHSIG), and keeps that over exec. So a
program is started through a line of Python that asks for it. The signal comes when the *thread* that started the
process ends: start one that outlives the call in the main thread. Elsewhere a process ends when its input does.
"""

import os
import shutil
import sys
from collections.abc import Sequence

# A parent that died before the request was made sends nothing: then the process has another parent by now.
_LAUNCHER = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); "
    "os.getppid() == int(sys.argv[1]) or os._exit(1); os.execv(sys.argv[2], sys.argv[3:])"
)


def tied(command: Sequence[str]) -> list[str]:
    """The command line that runs `command` and dies with this process.

    Raises:
        FileNotFoundError: there is no such program.
    """
    program = shutil.which(command[0])
    if program is None:
        raise FileNotFoundError(2, os.strerror(2), command[0])
    if not sys.platform.startswith("linux") or not sys.executable:
        return [program, *command[1:]]
    return [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), program, *command]
