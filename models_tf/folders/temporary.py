"""A run's own place for temporary files, which goes with the run, also where a signal ends it.

Libraries leave files in TMPDIR until Python's exit functions run (AutoGraph's generated code) or for good (runtimes),
and a run that a signal ends has no exit functions. So TMPDIR is a folder of the run's own, for its processes too. A
kill leaves it: it is named and marked like any unfinished folder, so that `export-mobile clean` finds it in the
system's.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from models_tf.folders import open_folders, run_marker
from models_tf.folders.output_folder import PARTIAL, SCRATCH

VARIABLE = "TMPDIR"
_FONTS = "MPLCONFIGDIR"  # where Matplotlib keeps its list of fonts: else it is a file under HOME
_PREFIX = f".export-mobile{PARTIAL}"


def system_place() -> Path:
    """Where temporary files go, and where killed runs left their own folders for them."""
    place = Path(tempfile.gettempdir())
    return place.parent if place.name.startswith(_PREFIX) else place


class _Place:
    """An open folder (`open_folders`)."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def discard(self) -> bool:
        for _ in range(2):  # a library's thread may write while the first one removes
            run_marker.remove(self._path)
        return True

    def outcome(self) -> str:
        return ""


@contextmanager
def own_place() -> Iterator[None]:
    """Temporary files of this process and of those it starts go to a new folder, which is removed with the block.

    Where none can be made, on a full disk say, nothing changes: whoever needs a temporary file says so.
    """
    try:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))
    except OSError:
        yield
        return
    place = _Place(path)
    open_folders.register(place)
    before, given = tempfile.tempdir, {name: os.environ.get(name) for name in (VARIABLE, _FONTS)}
    try:
        try:
            (path / SCRATCH).mkdir()
            run_marker.write(path / SCRATCH)
        except OSError:
            yield
            return
        tempfile.tempdir = os.environ[VARIABLE] = str(path)
        os.environ.setdefault(_FONTS, str(path / "matplotlib"))
        yield
    finally:
        tempfile.tempdir = before
        for name, value in given.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        place.discard()
        open_folders.unregister(place)
