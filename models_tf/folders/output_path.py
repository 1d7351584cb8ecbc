"""Whether an output path can be written at all, asked before any work: its names, its length and the folder it lies in.

Writes nothing. What may be replaced is for `output_folder` and `manifest` to say; a disk that is full shows later.
"""

import os
from pathlib import Path

from models_tf.errors import InputError

# What our files add to a path: the name of the folder while it is written, and the longest name in it.
_ROOM_BYTES = 255


def check_path(path: Path, flag: str = "--output") -> None:
    """Refuses a path that the file system cannot hold, or whose folder is a file or not writable."""
    path = Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve follows links
    place = _first_that_exists(path.parent)
    if not place.is_dir():
        raise InputError(
            f"The output {_short(path)} cannot be written: {_short(place)} is not a folder. Choose another {flag}."
        )
    longest_name, longest_path = os.pathconf(place, "PC_NAME_MAX"), os.pathconf(place, "PC_PATH_MAX") - _ROOM_BYTES
    for name in path.relative_to(place).parts:
        if len(os.fsencode(name)) > longest_name:
            raise InputError(
                f"{flag} must have names of at most {longest_name} bytes. Received: {_short(name)}, which has "
                f"{len(os.fsencode(name))}. Choose a shorter one."
            )
    if len(os.fsencode(path)) > longest_path:
        raise InputError(
            f"{flag} must be a path of at most {longest_path} bytes. Received: {len(os.fsencode(path))} bytes. "
            "Choose a shorter one."
        )
    if not os.access(place, os.W_OK | os.X_OK):
        raise InputError(
            f"The output {_short(path)} cannot be written: {_short(place)} is read-only for you. Choose another {flag}."
        )


def _first_that_exists(path: Path) -> Path:
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def _short(text: str | Path) -> str:
    """A message is one line: the beginning says which one is meant."""
    shown = str(text)
    return shown if len(shown) <= 200 else f"{shown[:60]}..."
