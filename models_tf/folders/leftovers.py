"""What killed runs left behind: hidden folders beside an output folder, found by their marker, age and owner.

A `.NAME.partial-*` folder was never complete and can go. A `.NAME.old-*` folder holds the output that was about to be
replaced: it goes if its successor is in place, else it is the only copy and moves back. Folders without our marker, of
another user, or of a process that may be alive are not touched.
"""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from models_tf.folders import manifest, run_marker
from models_tf.folders.output_folder import OLD, PARTIAL, SCRATCH


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
        shutil.rmtree(self.path)


def find(folder: Path, *, older_than_seconds: float) -> Iterator[Leftover]:
    """The leftovers directly inside `folder`, in the order of their names."""
    now = time.time()
    for path in sorted(folder.iterdir()):
        old = OLD in path.name
        if not path.name.startswith(".") or path.is_symlink() or not (old or PARTIAL in path.name) or not path.is_dir():
            continue
        run = run_marker.read(path if old else path / SCRATCH)
        status = path.stat()
        if run is None or run.user != os.getuid() or status.st_uid != os.getuid() or run.may_be_alive:
            continue
        age = now - max(status.st_mtime, *(file.stat().st_mtime for file in _files(path)), status.st_mtime)
        if age < older_than_seconds:
            continue
        place = folder / path.name[1:].partition(OLD)[0]
        alone = old and (path / "old").is_dir() and manifest.read(place) is None
        yield Leftover(
            path=path,
            age_seconds=age,
            size_bytes=sum(file.stat().st_size for file in _files(path)),
            only_copy_of=place if alone else None,
        )


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
