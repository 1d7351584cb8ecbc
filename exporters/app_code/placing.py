"""Writes files into the folder of an app that also has files of others: all of them, or none.

A hidden record in the folder says what was written and what it was then. A file that is as recorded may be replaced;
one that somebody changed or wrote is theirs, and only `--force` replaces it.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from models_tf.checkpoints.atomic_files import write_flushed
from models_tf.checkpoints.json_text import read_json_file
from models_tf.errors import InputError
from models_tf.folders import open_folders

RECORD = ".export-mobile-android.json"
_MADE_BY = "export-mobile android"
_LARGEST_BYTES = 1 << 20


class Placing:
    """`with Placing(folder, contents) as placing: placing.commit()`. Paths are relative to the folder."""

    def __init__(
        self,
        folder: Path,
        contents: Mapping[str, bytes],
        *,
        owned: Iterable[str],
        outdated: Iterable[str] = (),
        force: bool = False,
    ) -> None:
        """`owned` are folders whose recorded files go when they are no longer part of `contents`, `outdated` recorded
        files that go as well.
        """
        self.folder, self._contents, self._force = folder, contents, force
        self._record = recorded(folder)
        self._owned = (*(f"{name}/" for name in owned), *outdated)
        self._temporaries: dict[Path, Path] = {}
        self._made: list[Path] = []
        self._committing = self._complete = False

    def __enter__(self) -> "Placing":  # noqa: PYI034 - typing.Self needs Python 3.11
        self._check_free()
        open_folders.register(self)
        try:
            for name, content in {**self._contents, RECORD: self._new_record()}.items():
                target = self.folder / name
                self._make_parents(target.parent)
                temporary = target.with_name(f".{target.name}.tmp")
                self._temporaries[target] = temporary
                write_flushed(temporary, content)
        except OSError as error:
            self.discard()
            raise InputError(f"{self.folder} cannot be written: {error.strerror or error}.") from error
        except BaseException:
            self.discard()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def commit(self) -> list[str]:
        """Gives the files their names; returns those that were removed."""
        self._committing = True
        try:
            for target, temporary in self._temporaries.items():
                temporary.replace(target)
            self._temporaries, self._made = {}, []
            removed = [name for name in self._stale() if self._is_ours(name)]
            for name in removed:
                (self.folder / name).unlink(missing_ok=True)
            self._complete = True
        finally:
            self._committing = False
            self.discard()
        open_folders.committed()
        return removed

    def discard(self) -> bool:
        """Removes what has no name yet."""
        if self._committing:
            return False
        for temporary in self._temporaries.values():
            temporary.unlink(missing_ok=True)
        self._temporaries = {}
        while self._made:
            try:
                self._made.pop().rmdir()
            except OSError:  # not empty: it stays
                self._made = []
        open_folders.unregister(self)
        return True

    def outcome(self) -> str:
        return f"The files in {self.folder} are complete." if self._complete else ""

    def _check_free(self) -> None:
        for name, content in self._contents.items():
            path = self.folder / name
            if not os.path.lexists(path):
                continue
            if path.is_symlink() or not path.is_file():
                raise InputError(f"{path} must be a file, or not be there. Received: a folder or a link.")
            if self._force or self._is_ours(name) or path.read_bytes() == content:
                continue
            raise InputError(
                f"{path} is there, and is not as export-mobile wrote it. Move it away, or replace it with --force."
            )

    def _is_ours(self, name: str) -> bool:
        path = self.folder / name
        return (
            name in self._record
            and not path.is_symlink()
            and path.is_file()
            and checksum(path.read_bytes()) == self._record[name]
        )

    def _stale(self) -> list[str]:
        return [name for name in self._record if name.startswith(self._owned) and name not in self._contents]

    def _new_record(self) -> bytes:
        stale = set(self._stale())
        kept = {name: found for name, found in self._record.items() if name not in stale}
        files = {**kept, **{name: checksum(content) for name, content in self._contents.items()}}
        document = {"made_by": _MADE_BY, "files": dict(sorted(files.items()))}
        return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()

    def _make_parents(self, folder: Path) -> None:
        missing = []
        while not folder.is_dir():
            missing.append(folder)
            folder = folder.parent
        for each in reversed(missing):
            each.mkdir()
            self._made.append(each)


def checksum(content: bytes) -> str:
    """As the record has it."""
    return hashlib.sha256(content).hexdigest()


def recorded(folder: Path) -> dict[str, str]:
    """The files that were written, with their sums. A damaged record makes all of them foreign: the safe side."""
    path = folder / RECORD
    try:
        if path.is_symlink() or path.stat().st_size > _LARGEST_BYTES:
            return {}
        document = read_json_file(path)
    except (OSError, InputError):
        return {}
    files = document.get("files") if isinstance(document, dict) and document.get("made_by") == _MADE_BY else None
    if not isinstance(files, dict):
        return {}
    return {name: found for name, found in files.items() if isinstance(found, str) and _is_inside(name)}


def _is_inside(name: str) -> bool:
    return not name.startswith("/") and ".." not in name.split("/")
