"""The manifest of a folder that a command wrote: which files are ours, and what they were when they were written.

A folder that appears complete has `manifest.json` with the size and the SHA-256 of each file. One that grows in place,
as a training's does, has a hidden file with the names alone. `--force` replaces a folder only if a manifest names every
file in it. Temporary files of an interrupted write (`.NAME.tmp`, see `checkpoints/atomic_files.py`) count as the file
they were to become.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from models_tf.checkpoints.atomic_files import write_files
from models_tf.checkpoints.json_text import read_json_file
from models_tf.errors import InputError
from models_tf.folders.real_path import real_path

FILE = "manifest.json"
GROWING = ".export-mobile.json"
MADE_BY = "export-mobile"
VERSION = 2  # 1 had names alone; the hidden file still does
_LARGEST_BYTES = 1 << 20  # a manifest is some hundred bytes for each file
_CHUNK_BYTES = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file as it was written."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a complete folder holds; `command` wrote it."""

    command: str
    files: Mapping[str, Entry]


def complete(command: str, folder: Path, *, without: str = "") -> bytes:
    """The content of `manifest.json`, of all files that are in the folder now, but for those in `without`."""
    found = (path for path in folder.rglob("*") if not path.is_dir() and path != folder / FILE)
    paths = sorted(path for path in found if path.relative_to(folder).parts[0] != without)
    files = {path.relative_to(folder).as_posix(): asdict(entry_of(path)) for path in paths}
    document = {"made_by": MADE_BY, "version": VERSION, "command": command, "files": files}
    return (json.dumps(document, indent=1) + "\n").encode()


def entry_of(path: Path) -> Entry:
    """Size and sum of a file as it is now."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
    return Entry(size_bytes=size, sha256=digest.hexdigest())


def names_only(command: str, files: Iterable[str]) -> bytes:
    """The content of the hidden file of a folder that grows."""
    document = {"made_by": MADE_BY, "version": 1, "command": command, "files": sorted(set(files))}
    return (json.dumps(document, indent=1) + "\n").encode()


def add(folder: Path, command: str, files: Iterable[str]) -> None:
    """For a folder that grows in place: name `files` too. Call it before they are written."""
    known = read(folder) or frozenset()
    wanted = known | set(files)
    if wanted != known or not (folder / GROWING).exists():
        write_files(folder, {GROWING: names_only(command, wanted)})


def read(folder: Path) -> frozenset[str] | None:
    """The names in the folder's manifests; None if there is none, or not one of ours."""
    found = [names for name in (FILE, GROWING) if (names := _names(folder / name)) is not None]
    return frozenset().union(*found) if found else None


def load(folder: Path) -> Manifest:
    """The manifest of a complete folder; an `InputError` says what is wrong with it."""
    path = folder / FILE
    if not os.path.lexists(path):
        raise InputError(
            f"{folder} must have a {FILE}, which export, compress and profile write. Received: "
            + ("a folder of a training, which has no checksums." if _names(folder / GROWING) is not None else "none.")
        )
    document = _document(path)
    if document is None:
        raise InputError(f"{path} must be a manifest that export-mobile wrote. Received: a file of another kind.")
    if document.get("version") != VERSION:
        raise InputError(
            f"{path} must have version {VERSION}. Received: {str(document.get('version'))[:40]}. "
            "Use the release of export-mobile that wrote it."
        )
    files, command = document.get("files"), document.get("command")
    if not isinstance(files, dict) or not isinstance(command, str):
        raise InputError(f"{path} must name a command and its files. Received: a damaged manifest.")
    return Manifest(command=command, files={name: _entry(path, name, found) for name, found in files.items()})


def _entry(path: Path, name: str, found: Any) -> Entry:
    if name != PurePosixPath(name).as_posix() or PurePosixPath(name).is_absolute() or ".." in name.split("/"):
        raise InputError(f"{path} must name files inside of its folder. Received: {name[:200]!r}.")
    values = (found.get("size_bytes"), found.get("sha256")) if isinstance(found, dict) else (None, None)
    size, digest = values
    if type(size) is not int or size < 0 or not isinstance(digest, str) or not _SHA256.fullmatch(digest):
        raise InputError(f"{path} must give the size and the SHA-256 of {name[:200]}. Received: a damaged entry.")
    return Entry(size_bytes=size, sha256=digest)


def _names(path: Path) -> frozenset[str] | None:
    """The files that one manifest names."""
    files = (_document(path) or {}).get("files")
    if not isinstance(files, list | dict) or not all(isinstance(name, str) for name in files):
        return None
    return frozenset(files)


def _document(path: Path) -> dict[str, Any] | None:
    try:
        if path.is_symlink() or path.stat().st_size > _LARGEST_BYTES:
            return None
        document = read_json_file(path)
    except (OSError, InputError):
        return None
    return document if isinstance(document, dict) and document.get("made_by") == MADE_BY else None


def first_stranger(folder: Path) -> str | None:
    """The first file, by name, that no manifest of the folder names; None if all are ours or there are none."""
    return min(strangers(folder), default=None)


def strangers(folder: Path) -> Iterator[str]:
    """The files that no manifest of the folder names."""
    ours = read(folder) or frozenset()
    unfinished = (PurePosixPath(name) for name in (*ours, FILE, GROWING))
    known = {*ours, *(str(name.with_name(f".{name.name}.tmp")) for name in unfinished)}
    known |= {name for name in (FILE, GROWING) if _names(folder / name) is not None}
    return (name for name in files_below(folder) if name not in known)


def files_below(folder: Path) -> Iterator[str]:
    """All files below, links included and not followed; so are empty folders, which nobody named."""
    for place, folders, files in os.walk(folder, onerror=_raise):
        here = Path(place).relative_to(folder)
        yield from ((here / name).as_posix() for name in files)
        yield from ((here / name).as_posix() for name in folders if (Path(place) / name).is_symlink())
        if here != Path() and not folders and not files:
            yield here.as_posix()


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


def check_apart(
    output: Path,
    inputs: Iterable[tuple[str, str | os.PathLike[str] | None]],
    *,
    flag: str = "--output",
    may_contain: bool = False,
) -> None:
    """Refuse an output that is one of the `inputs` (flag and path), or contains it, or lies inside an input folder.

    What does not exist here, such as a model's name on a hub, is safe and is not looked at. A folder to which files are
    only added `may_contain` inputs.
    """
    target = real_path(output)
    for read, given in inputs:
        if given is None or not os.path.lexists(given):
            continue
        source = real_path(given)
        if source == target:
            raise InputError(f"{flag} must not be {read} itself. Received: {output} for both.")
        if target in source.parents and not may_contain:
            raise InputError(f"{flag} must not contain {read}. Received: {output}, which contains {given}.")
        if source in target.parents and source.is_dir():
            raise InputError(f"{flag} must not lie inside {read}. Received: {output}, which is inside {given}.")
