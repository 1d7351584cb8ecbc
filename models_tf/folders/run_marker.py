"""A file in an unfinished folder that says which run made it, so that a killed run can be told from a live one."""

import json
import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from models_tf.checkpoints.atomic_files import write_flushed
from models_tf.folders.manifest import MADE_BY

FILE = "run.json"


@dataclass(frozen=True, kw_only=True)
class Run:
    """The process that made a folder."""

    pid: int
    user: int
    host: str

    @property
    def may_be_alive(self) -> bool:
        """A process on another machine, or one we may not query, counts as alive: better to keep too much."""
        if self.host != platform.node():
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True


def write(folder: Path) -> None:
    run = {"made_by": MADE_BY, "pid": os.getpid(), "user": os.getuid(), "host": platform.node()}
    write_flushed(folder / FILE, (json.dumps(run) + "\n").encode())


def remove(folder: Path) -> None:
    """Removes a folder whose marker is in it or one level below; the marker goes last, so that a kill leaves it."""
    markers = [path for path in (folder / FILE, *folder.glob(f"*/{FILE}")) if read(path.parent) is not None]
    keep = {folder, *markers, *(marker.parent for marker in markers)}
    for place in keep - set(markers):
        for path in place.iterdir() if place.is_dir() else ():
            if path not in keep:
                _remove_any(path)
    shutil.rmtree(folder, ignore_errors=True)


def _remove_any(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def read(folder: Path) -> Run | None:
    """The run that wrote the marker; None if there is no marker or it is not ours."""
    try:
        found = json.loads((folder / FILE).read_bytes()[:1000])
        if found.pop("made_by") != MADE_BY:
            return None
        run = Run(**found)
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None
    known = isinstance(run.pid, int) and isinstance(run.user, int) and isinstance(run.host, str)
    return run if known and run.pid > 0 else None
