"""The folder that a training writes: made at the first write, whole files only, removed if nothing was written.

It grows in place, so that a stopped training keeps its best checkpoint and can continue. It registers with
`open_folders`, which a run consults if it must end early. Leaves out what the files hold.
"""

import contextlib
import itertools
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from models_tf.checkpoints import projection as checkpoint
from models_tf.checkpoints.atomic_files import copy_file, write_files
from models_tf.checkpoints.folder import STATE_FILE
from models_tf.errors import InputError
from models_tf.folders import manifest, open_folders
from models_tf.folders.output_folder import Inputs
from models_tf.folders.output_path import check_path
from models_tf.folders.real_path import real_path
from models_tf.folders.trial import check_writable
from models_tf.training.state import Position, save_state

PROJECTION_FILES = (checkpoint.CONFIG_FILE, checkpoint.WEIGHTS_FILE, checkpoint.LABELS_FILE)
COMMAND = "train"


class TrainingFolder:
    """`with TrainingFolder(path, ...) as folder:` refuses an unusable folder before anything is written."""

    def __init__(
        self,
        path: Path,
        *,
        force: bool = False,
        resume: bool = False,
        files: Collection[str] = PROJECTION_FILES,
        inputs: Inputs = (),
    ) -> None:
        """`files` are those of a checkpoint. `inputs` are flags and paths that the training reads.

        The folder must not overlap the inputs.
        """
        self.path, self._force, self.resume, self._files = path, force, resume, files
        self._inputs = tuple(inputs)
        self._caches, self._names = set[str](), set[str]()
        self._made: list[Path] = []
        self._replaced: dict[str, int] = {}  # files of an earlier run by inode, removed after the first write
        self._has_state = resume
        self._has_checkpoint = resume and (path / checkpoint.CONFIG_FILE).is_file()
        self._writing = False
        self._foreign: OSError | None = None

    def __enter__(self) -> "TrainingFolder":  # noqa: PYI034 - typing.Self needs Python 3.11
        self._check()
        open_folders.register(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove_if_empty()
        open_folders.unregister(self)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError) and error is not self._foreign:
            place = f": {error.filename}" if error.filename else ""
            left = self.outcome() or open_folders.NOTHING
            raise InputError(f"{error.strerror or error}{place}. {left}") from error

    def _check(self) -> None:
        """Refuses a folder that is in use or not writable; leaves nothing behind."""
        path = self.path
        check_path(path)
        manifest.check_apart(path, self._inputs)
        if path.exists() and not path.is_dir():
            raise InputError(f"--output must be a folder. Received: {path} (a file).")
        if self.resume:
            self._check_resumed()
        elif path.exists() and any(path.iterdir()):
            if not self._force:
                raise InputError(
                    f"--output must be new. Received: {path} (exists). Remedy: --resume, --force or another name."
                )
            manifest.check_replaceable(path)
            names = {*(manifest.read(path) or ()), manifest.FILE}  # what grows here has the hidden one
            # Only what is found below: a manifest may come from anywhere, and name files of others.
            found = [name for name in manifest.files_below(path) if name in names and (path / name).is_file()]
            self._replaced = {name: (path / name).stat().st_ino for name in found}
        check_writable(path, "--output")

    def _check_resumed(self) -> None:
        state = self.path / STATE_FILE
        if not state.is_file():
            if (self.path / checkpoint.CONFIG_FILE).is_file():
                raise InputError(
                    f"--resume needs a training that was stopped. Received: {self.path}, where one has finished. "
                    "Remedy: --force or another --output for a new one."
                )
            raise InputError(
                f"--resume needs {state}, which a training that was stopped leaves. Received: no such file."
            )
        known = manifest.read(self.path)
        for name in self._files if known is not None else ():
            if name not in (known or ()) and (self.path / name).exists():
                raise InputError(
                    f"--resume writes {self.path / name}, which is not a file of this training. Remedy: move it away."
                )

    def pass_on(self, error: OSError) -> None:
        """This error is not of our files: it leaves the block as it is."""
        self._foreign = error

    def save_checkpoint(self, write: Callable[[Path], None]) -> None:
        """`write` puts a whole checkpoint into the folder."""
        with self._uncut(self._files):
            write(self.path)
            self._has_checkpoint = True

    def save_state(
        self, position: Position, fingerprint: dict[str, Any], arrays: list[np.ndarray], epochs: int
    ) -> None:
        with self._uncut((STATE_FILE,)):
            save_state(self.path, position, fingerprint, arrays, epochs)
            self._has_state = True

    @property
    def place(self) -> Path:
        """Where the folder is or will be: the nearest folder that exists."""
        return next(path for path in (self.path, *self.path.absolute().parents) if path.is_dir())

    def save_cache(self, name: str, stream: IO[bytes]) -> None:
        """A file that saves a resumed training some work; removed together with the state."""
        with self._uncut((name,)):
            copy_file(self.path, name, stream)
            self._caches.add(name)

    @property
    def has_files(self) -> bool:
        """Whether something was written that stays."""
        return self._has_state or self._has_checkpoint

    def add_files(self, paths: Collection[Path]) -> None:
        """Files that a library has written: those inside of the folder count as ours."""
        here = real_path(self.path)
        places = [real_path(path) for path in paths]
        names = {place.relative_to(here).as_posix() for place in places if here in place.parents}
        if names:
            self._names |= names
            manifest.add(self.path, COMMAND, names)

    def keep_cache(self, name: str) -> None:
        """A cache of the resumed training; also removed together with the state."""
        self._caches.add(name)

    def remove_state(self) -> None:
        """Training is complete: there is nothing to resume. The state goes last: without it nobody would look for the
        caches again.
        """
        for name in (*self._caches, STATE_FILE):
            (self.path / name).unlink(missing_ok=True)
        self._has_state = False

    def discard(self) -> bool:
        """Removes empty folders made here; False while files are being written, which will be completed."""
        if not self._writing:
            self._remove_if_empty()
        return not self._writing

    def outcome(self) -> str:
        """What is left of a training that ends now."""
        parts = []
        if self._has_state:
            parts.append("Go on with --resume.")
        if self._has_checkpoint:
            parts.append(f"The best checkpoint so far is kept in {self.path}.")
        return " ".join(parts)

    @contextlib.contextmanager
    def _uncut(self, names: Collection[str]) -> Iterator[None]:
        """Writes the files `names` without being interrupted."""
        self._make_folder()
        self._writing = True
        try:
            self._names |= set(names)
            manifest.add(self.path, COMMAND, names)
            yield
            self._remove_replaced()
        finally:
            self._writing = False
            open_folders.committed()

    def _remove_replaced(self) -> None:
        """With --force: removes what an earlier run left and this one has not rewritten, as it does not fit."""
        if not self._replaced:
            return
        for name, inode in self._replaced.items():
            path = self.path / name
            if path.is_file() and path.stat().st_ino == inode:
                path.unlink()
                self._remove_empty_above(path)
        self._replaced = {}
        write_files(self.path, {manifest.GROWING: manifest.names_only(COMMAND, self._names)})

    def _remove_empty_above(self, path: Path) -> None:
        """Removes the folders around a file, up to this one, that hold nothing any more."""
        for parent in itertools.takewhile(lambda parent: parent != self.path, path.parents):
            if any(parent.iterdir()):
                return
            parent.rmdir()

    def _make_folder(self) -> None:
        missing = [path for path in (self.path, *self.path.parents) if not path.exists()]
        for path in reversed(missing):
            self._made.append(path)  # first: the run may end in between
            path.mkdir(exist_ok=True)

    def _remove_if_empty(self) -> None:
        """Removes folders made here that are empty or hold only the manifest of files that were never written."""
        if self._made and self.path.is_dir() and [found.name for found in self.path.iterdir()] == [manifest.GROWING]:
            (self.path / manifest.GROWING).unlink()
        while self._made:
            try:
                self._made[-1].rmdir()
            except FileNotFoundError:
                pass
            except OSError:  # it holds something
                return
            self._made.pop()
