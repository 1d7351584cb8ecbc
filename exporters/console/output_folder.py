"""The output folder: complete under its name, or not there at all.

Files go into a hidden sibling folder first; one rename at the end gives it its name. With `force` the old
folder is moved away only when the new one is complete. `discard_all` serves signal handlers.
Leaves out what the files are.
"""

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from models_tf.errors import InputError

_pending: set["OutputFolder"] = set()
_committed: list[Path] = []


class OutputFolder:
    """`with OutputFolder(path) as out: out.write("a", b"..."); out.commit()`; without `commit` nothing stays."""

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self.path = absolute(path)
        self._force = force
        self._made_parents: list[Path] = []
        self._staging: Path | None = None
        self.committing = False

    def __enter__(self) -> "OutputFolder":  # noqa: PYI034 - typing.Self needs Python 3.11
        check_free(self.path, force=self._force)
        _pending.add(self)
        try:
            self._make_parents()
            self._staging = Path(tempfile.mkdtemp(prefix=f".{self.path.name[:80]}.partial-", dir=self.path.parent))
            self._staging.chmod(0o755)
        except OSError as error:
            self.discard()
            raise InputError(
                f"The output folder {self.path} cannot be written: {error.strerror or error}. Choose another --output."
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    @property
    def staging(self) -> Path:
        """Where the files are until `commit`."""
        if self._staging is None:
            raise RuntimeError("the output folder is not open")
        return self._staging

    def write(self, name: str, content: bytes | str) -> Path:
        """Write one file and make sure that the disk took it."""
        path = self.staging / name
        write_file(path, content)
        return path

    def scratch_write(self, name: str, content: bytes | str) -> Path:
        """The same for a file that is needed on disk during the run and is not part of the output."""
        folder = self.staging / ".scratch"
        folder.mkdir(exist_ok=True)
        write_file(folder / name, content)
        return folder / name

    def commit(self) -> None:
        """Give the complete folder its name."""
        shutil.rmtree(self.staging / ".scratch", ignore_errors=True)
        self.committing = True
        try:
            old = self._move_old_away()
            try:
                self.staging.rename(self.path)
            except BaseException as error:
                if old is not None:
                    self._bring_back(old, error)
                raise
            self._staging = None
            self._made_parents = []
            _committed.append(self.path)
            if old is not None:  # only now: until here it is all that the user has
                shutil.rmtree(old.parent, ignore_errors=True)
        finally:
            self.committing = False
            self.discard()

    def _move_old_away(self) -> Path | None:
        """Where the folder that is to be replaced lies now, if there is one."""
        if not os.path.lexists(self.path):
            return None
        check_free(self.path, force=self._force)  # somebody may have made it meanwhile
        keep = Path(tempfile.mkdtemp(prefix=f".{self.path.name[:80]}.old-", dir=self.path.parent))
        try:
            self.path.rename(keep / "old")
        except OSError:
            keep.rmdir()
            raise
        return keep / "old"

    def _bring_back(self, old: Path, reason: BaseException) -> None:
        try:
            old.rename(self.path)
            old.parent.rmdir()
        except OSError as error:
            raise InputError(
                f"The output folder {self.path} could not be replaced: {reason}. The old one is now {old}; move it back."
            ) from error

    def discard(self) -> None:
        """Remove whatever is not committed; safe to call twice."""
        if self.committing:  # two renames away from being complete
            return
        if self._staging is not None:
            shutil.rmtree(self._staging, ignore_errors=True)
            self._staging = None
        while self._made_parents:
            try:
                self._made_parents.pop().rmdir()
            except OSError:  # somebody else put a file there: it stays
                self._made_parents = []
        _pending.discard(self)

    def _make_parents(self) -> None:
        missing = []
        parent = self.path.parent
        while not parent.exists() and parent != parent.parent:
            missing.append(parent)
            parent = parent.parent
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            self._made_parents.append(folder)


def absolute(path: Path) -> Path:
    """Without `.` and `..`, and without following a link: a link is no folder to replace."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve follows links


def check_free(path: Path, *, force: bool) -> None:
    """Refuse an output folder that exists, unless `force` and it is a folder that an export wrote or is empty."""
    if not os.path.lexists(path):
        return
    if not force:
        raise InputError(f"The output folder {path} exists. Use --force to replace it, or choose another --output.")
    if not path.is_dir() or path.is_symlink():
        raise InputError(f"--output must be a folder. Received: {path}, which is a file or a link.")
    if any(path.iterdir()) and not (path / "report.json").is_file():
        raise InputError(
            f"--force replaces only folders that an export wrote (with a report.json). Received: {path}; remove it yourself."
        )


def write_file(path: Path, content: bytes | str) -> None:
    """Write and flush to disk, so that a full disk is an error here and not later."""
    with path.open("wb") as file:
        # A path in a report may hold bytes that are no UTF-8: \udcXX in JSON stands for them, and can be read back.
        file.write(content.encode(errors="backslashreplace") if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())


def discard_all() -> bool:
    """For a signal handler: remove everything unfinished. False when a commit is under way and must end first."""
    if any(folder.committing for folder in _pending):
        return False
    for folder in list(_pending):
        folder.discard()
    return True


def outcome() -> str:
    """What a run that ends early has left behind, for its last line."""
    return f"The output in {_committed[-1]} is complete." if _committed else "Nothing was written."
