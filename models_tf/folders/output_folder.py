"""The output folder: complete under its name, or not there at all.

Files go into a hidden sibling folder first; one rename at the end gives it its name. With `force` the old folder is
moved away only once the new one is complete. Leaves out what the files are, and how a run ends early: the folder
registers with `open_folders`, which knows every folder being written.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from models_tf.checkpoints.atomic_files import write_flushed
from models_tf.errors import InputError
from models_tf.folders import manifest, open_folders, run_marker
from models_tf.folders.output_path import check_path

PARTIAL, OLD = ".partial-", ".old-"
SCRATCH = ".scratch"
_RANDOM_BYTES = 8  # that `mkdtemp` adds

Inputs = Iterable[tuple[str, str | os.PathLike[str] | None]]


class OutputFolder:
    """`with OutputFolder(path, command="export") as out: out.write("a", b"..."); out.commit()`.

    Without `commit` nothing stays. `inputs` are flags and paths that the run reads; the output must not overlap them.
    """

    def __init__(self, path: Path, *, command: str, force: bool = False, inputs: Inputs = ()) -> None:
        self.path = absolute(path)
        self._command, self._force, self._inputs = command, force, tuple(inputs)
        self._made_parents: list[Path] = []
        self._staging: Path | None = None
        self._committing = False
        self._complete = False

    def __enter__(self) -> "OutputFolder":  # noqa: PYI034 - typing.Self needs Python 3.11
        check_free(self.path, force=self._force, inputs=self._inputs)
        open_folders.register(self)
        try:
            self._make_parents()
            self._staging = _make_sibling(self.path, PARTIAL)
            self._staging.chmod(0o755)
            (self._staging / SCRATCH).mkdir()
            run_marker.write(self._staging / SCRATCH)
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

    @property
    def scratch(self) -> Path:
        """For files that are only needed during the run."""
        return self.staging / SCRATCH

    def write(self, name: str, content: bytes | str) -> Path:
        """Write one file and make sure it is on disk."""
        path = self.staging / name
        write_flushed(path, _encoded(content))
        return path

    def scratch_write(self, name: str, content: bytes | str) -> Path:
        """The same for a file that is only needed during the run and is not part of the output."""
        return self.write(f"{SCRATCH}/{name}", content)

    def commit(self) -> None:
        """Give the complete folder its name."""
        # The manifest comes before the marker goes: a killed run is known by one of them at any moment.
        self.write(manifest.FILE, manifest.complete(self._command, self.staging, without=SCRATCH))
        shutil.rmtree(self.staging / SCRATCH, ignore_errors=True)
        self._committing = True
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
            self._complete = True
            if old is not None:  # only now: until here it was the user's only copy
                run_marker.remove(old.parent)
        finally:
            self._committing = False
            self.discard()
        open_folders.committed()

    def discard(self) -> bool:
        """Remove whatever is not committed; safe to call twice. False while the folder gets its name."""
        if self._committing:  # at most two renames from complete
            return False
        if self._staging is not None:
            run_marker.remove(self._staging)
            self._staging = None
        while self._made_parents:
            try:
                self._made_parents.pop().rmdir()
            except OSError:  # someone else put a file there: it stays
                self._made_parents = []
        open_folders.unregister(self)
        return True

    def outcome(self) -> str:
        return f"The output in {self.path} is complete." if self._complete else ""

    def _move_old_away(self) -> Path | None:
        """Where the folder to be replaced is now, if there is one."""
        if not os.path.lexists(self.path):
            return None
        check_free(self.path, force=self._force)  # someone may have made it in the meantime
        keep = _make_sibling(self.path, OLD)
        try:
            run_marker.write(keep)
            self.path.rename(keep / "old")
        except OSError:
            shutil.rmtree(keep, ignore_errors=True)
            raise
        return keep / "old"

    def _bring_back(self, old: Path, reason: BaseException) -> None:
        try:
            old.rename(self.path)
            shutil.rmtree(old.parent, ignore_errors=True)
        except OSError as error:
            raise InputError(
                f"The output folder {self.path} could not be replaced: {reason}. "
                f"The old one is now {old}; move it back."
            ) from error

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
    """Without `.` and `..`, but not following links: a link is not a folder to replace."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve follows links


def check_free(path: Path, *, force: bool, inputs: Inputs = ()) -> None:
    """Refuse an output folder that exists (unless `force` and everything in it is ours) or that overlaps an input."""
    path = absolute(path)
    check_path(path)
    manifest.check_apart(path, inputs)
    if not os.path.lexists(path):
        return
    manifest.check_replaceable(path)
    if not force:
        raise InputError(f"The output folder {path} exists. Use --force to replace it, or choose another --output.")


def _make_sibling(path: Path, kind: str) -> Path:
    # A name is measured in bytes. `clean` knows by it where an old folder belongs: it is cut only where it must be.
    most = os.pathconf(path.parent, "PC_NAME_MAX") - len(f".{kind}") - _RANDOM_BYTES
    name = os.fsdecode(os.fsencode(path.name)[:most])
    return Path(tempfile.mkdtemp(prefix=f".{name}{kind}", dir=path.parent))


def _encoded(content: bytes | str) -> bytes:
    # A path in a report may hold bytes that are not UTF-8: JSON writes them as \udcXX and can read them back.
    return content.encode(errors="backslashreplace") if isinstance(content, str) else content
