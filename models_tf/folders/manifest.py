"""The manifest: a hidden file in each folder that a command writes, which names the files that are ours.

`--force` replaces a folder only if its manifest names every file in it. Temporary files of an interrupted write
(`.NAME.tmp`, see `checkpoints/atomic_files.py`) count as the file they were to become.
"""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from models_tf.checkpoints.atomic_files import write_files
from models_tf.errors import InputError

FILE = ".export-mobile.json"
MADE_BY = "export-mobile"
VERSION = 1
_LARGEST_BYTES = 1 << 20  # a manifest is a few hundred bytes


def content(command: str, files: Iterable[str]) -> bytes:
    """The manifest of a folder with these files, written by `command` ("export", "train", ...)."""
    document = {"made_by": MADE_BY, "version": VERSION, "command": command, "files": sorted(set(files))}
    return (json.dumps(document, indent=1) + "\n").encode()


def add(folder: Path, command: str, files: Iterable[str]) -> None:
    """For a folder that grows in place: name `files` too. Call it before they are written."""
    known = read(folder) or frozenset()
    wanted = known | set(files)
    if wanted != known or not (folder / FILE).exists():
        write_files(folder, {FILE: content(command, wanted)})


def read(folder: Path) -> frozenset[str] | None:
    """The names in the manifest; None if there is none, or not one of ours."""
    path = folder / FILE
    try:
        if path.is_symlink() or path.stat().st_size > _LARGEST_BYTES:
            return None
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("made_by") != MADE_BY:
        return None
    files = document.get("files")
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        return None
    return frozenset(files)


def first_stranger(folder: Path) -> str | None:
    """The first file, by name, that the folder's manifest does not name; None if all are ours or there are none."""
    ours = read(folder) or frozenset()
    known = {*ours, *(str(Path(name).with_name(f".{Path(name).name}.tmp")) for name in (*ours, FILE))}
    known |= {FILE} if read(folder) is not None else set()
    return min((name for name in _files(folder) if name not in known), default=None)


def _files(folder: Path) -> Iterator[str]:
    """All files below, links included and not followed; so are empty folders, which nobody named."""
    for place, folders, files in os.walk(folder, onerror=_raise):
        here = Path(place).relative_to(folder)
        yield from (str(here / name) for name in files)
        yield from (str(here / name) for name in folders if (Path(place) / name).is_symlink())
        if here != Path() and not folders and not files:
            yield str(here)


def _raise(error: OSError) -> None:
    raise error


def check_replaceable(folder: Path, *, flag: str = "--output") -> None:
    """Refuse to replace anything but an empty folder, or one whose every file is ours."""
    if folder.is_symlink() or not folder.is_dir():
        raise InputError(f"{flag} must be a folder. Received: {folder}, which is a file or a link.")
    stranger = first_stranger(folder)
    if stranger is not None:
        raise InputError(
            f"{flag} must be a new folder, or one that export-mobile wrote. "
            f"Received: {folder}, which holds {stranger}, a file it does not know. Choose another {flag}."
        )


def check_apart(output: Path, inputs: Iterable[tuple[str, str | os.PathLike[str] | None]]) -> None:
    """Refuse an output that is one of the `inputs` (flag and path), or contains it, or lies inside an input folder.

    What does not exist here, such as a model's name on a hub, is safe and is not looked at.
    """
    target = output.resolve()
    for flag, given in inputs:
        if given is None or not os.path.lexists(given):
            continue
        source = Path(given).resolve()
        if source == target:
            raise InputError(f"--output must not be {flag} itself. Received: {output} for both.")
        if target in source.parents:
            raise InputError(f"--output must not contain {flag}. Received: {output}, which contains {given}.")
        if source in target.parents and source.is_dir():
            raise InputError(f"--output must not lie inside {flag}. Received: {output}, which is inside {given}.")
