"""What killed runs left behind: hidden folders beside an output folder, found by their marker, age and owner.

A `.NAME.partial-*` folder was never complete and can go. A `.NAME.old-*` folder holds the output that was about to be
replaced: it goes if its successor is in place, else it is the only copy and moves back. Folders without our marker, of
another user, or of a process that may be alive are not touched.
"""

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from models_tf.folders import manifest, run_marker
from models_tf.folders.output_folder import OLD, PARTIAL, SCRATCH

_COMMIT_SECONDS = 60


@dataclass(frozen=True, kw_only=True)
class Leftover:
    """`only_copy_of` is the place of an old output that has no successor."""

    path: Path
    age_seconds: float
    size_bytes: int
    only_copy_of: Path | None = None

    def clear(self) -> None:
        """Remove it; an only copy moves back to its place instead."""
        if self.only_copy_of is not None:
            if os.path.lexists(self.only_copy_of):  # somebody took the place meanwhile: keep both
                return
            (self.path / "old").rename(self.only_copy_of)
        run_marker.remove(self.path)


def find(folder: Path) -> Iterator[Leftover]:
    """The leftovers directly inside `folder`, in the order of their names."""
    for path in sorted(folder.iterdir()):
        is_old = OLD in path.name
        if not path.name.startswith(".") or not (is_old or PARTIAL in path.name):
            continue
        if path.is_symlink() or not path.is_dir() or path.stat().st_uid != os.getuid():
            continue
        statuses = [path.stat(), *(file.stat() for file in path.rglob("*") if not file.is_symlink())]
        age = time.time() - max(status.st_mtime for status in statuses)
        if not _is_dead(path, age, is_old=is_old):
            continue
        place = folder / path.name[1:].partition(OLD)[0]
        is_only_copy = is_old and (path / "old").is_dir() and manifest.read(place) is None
        yield Leftover(
            path=path,
            age_seconds=age,
            size_bytes=sum(status.st_size for status in statuses if stat.S_ISREG(status.st_mode)),
            only_copy_of=place if is_only_copy else None,
        )


def _is_dead(path: Path, age: float, *, is_old: bool) -> bool:
    """Whether it is ours, and of a process that is gone."""
    run = run_marker.read(path if is_old else path / SCRATCH)
    if run is not None:
        return run.user == os.getuid() and not run.may_be_alive
    # A run makes the folder, then the marker; a commit removes the marker, and takes a moment until the new name.
    if age <= _COMMIT_SECONDS:
        return False
    return _is_bare(path) or (not is_old and manifest.read(path) is not None)


def _is_bare(path: Path) -> bool:
    """Whether a run got no further than to make the folder and an empty marker."""
    found = {one.relative_to(path).as_posix(): one for one in path.rglob("*")}
    marker = found.get(run_marker.FILE) or found.get(f"{SCRATCH}/{run_marker.FILE}")
    known = {SCRATCH, run_marker.FILE, f"{SCRATCH}/{run_marker.FILE}"}
    return set(found) <= known and (marker is None or not marker.stat().st_size)
