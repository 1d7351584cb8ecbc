"""Files that are whole under their names: written beside them first, then renamed.

A full disk leaves the earlier files as they were and nothing beside them.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import IO


def write_files(folder: Path, contents: Mapping[str, bytes], *, remove_first: str | None = None) -> None:
    """Writes all of them, then renames them in the order given; nothing is replaced before all are on disk.

    `remove_first` is unlinked before the first rename: for files that do not fit the ones they replace.
    """
    temporaries = {name: folder / f".{name}.tmp" for name in contents}
    try:
        for name, content in contents.items():
            write_flushed(temporaries[name], content)
        if remove_first is not None:
            (folder / remove_first).unlink(missing_ok=True)
        for name, temporary in temporaries.items():
            temporary.replace(folder / name)
    except BaseException:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)
        raise


def copy_file(folder: Path, name: str, stream: IO[bytes]) -> None:
    """Writes one file of any size from a stream."""
    temporary = folder / f".{name}.tmp"
    try:
        with temporary.open("wb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / name)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_flushed(path: Path, content: bytes) -> None:
    """Write one file and wait for the disk: a full one is an error here, not later."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
