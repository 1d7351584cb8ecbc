"""Memory of this process that is really in use, now and at its highest.

Linux tells both and lets the highest be reset. Elsewhere the highest is that of the whole life of the process, which
can only make a file look larger.
"""

import contextlib
import resource
import sys
from pathlib import Path

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def start() -> int:
    """Forget the highest value so far, where that is possible; returns the bytes in use."""
    with contextlib.suppress(OSError):
        _RESET.write_text("5", encoding="ascii")
    now = _field("VmRSS")
    return _peak() if now is None else now


def peak_above(base: int) -> int:
    """The highest value since `start`, less what was in use then."""
    return max(0, _peak() - base)


def _peak() -> int:
    found = _field("VmHWM")
    if found is not None:
        return found
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _field(name: str) -> int | None:
    try:
        for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return None
