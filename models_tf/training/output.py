"""The folder that training writes: made at the first write, whole files only, gone again if nothing came.

Also what Ctrl-C does: it waits for a write that is under way, says in one line what is there, and leaves. A
KeyboardInterrupt raised inside TensorFlow's imports or callbacks can be swallowed, so the handler ends the process.
"""

import contextlib
import os
import signal
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

import numpy as np

from models_tf.checkpoints import projection as checkpoint
from models_tf.checkpoints.atomic_files import write_files
from models_tf.errors import InputError
from models_tf.training.state import STATE_FILE, Position, save_state

CHECKPOINT_FILES = (checkpoint.CONFIG_FILE, checkpoint.WEIGHTS_FILE, checkpoint.LABELS_FILE)
EXIT_INTERRUPTED = 2


class TrainingOutput:
    """Checkpoint and state of one training, and what to say about them when it ends early."""

    def __init__(
        self,
        folder: Path,
        *,
        force: bool,
        resume: bool,
        files: Collection[str] = CHECKPOINT_FILES,
        resumable: bool = True,
    ) -> None:
        """`files` are those of a checkpoint: an earlier training's are removed when a new one begins. What is not `resumable`
        is done at once, and its command has no --resume.
        """
        self.folder, self._force, self._resume, self._files = folder, force, resume, files
        self._resumable = resumable
        self._caches = set[str]()
        self._made: list[Path] = []
        self._has_state = resume
        self._has_checkpoint = resume and (folder / checkpoint.CONFIG_FILE).is_file()
        self._writing = False
        self._signal: int | None = None
        self._stream: TextIO | None = None

    def check(self) -> None:
        """Refuses a folder that is in use or cannot be written; leaves nothing behind."""
        folder = self.folder
        if folder.exists() and not folder.is_dir():
            raise InputError(f"--output must be a folder. Received: {folder} (a file).")
        if self._resume and not (folder / STATE_FILE).is_file():
            raise InputError(
                f"--resume needs {folder / STATE_FILE}, which a killed training leaves. Received: no such file."
            )
        if folder.exists() and any(folder.iterdir()) and not (self._force or self._resume):
            ways = "--resume, --force" if self._resumable else "--force"
            raise InputError(f"--output must be new. Received: {folder} (exists). Remedy: {ways} or another name.")
        try:
            self._make_folder()
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise InputError(
                f"The output folder {folder} cannot be written: {error.strerror or error}. Choose another --output."
            ) from error
        finally:
            self.remove_if_empty()

    def save_checkpoint(self, write: Callable[[Path], None]) -> None:
        """`write` puts a whole checkpoint into the folder."""
        with self._uncut():
            write(self.folder)
            self._has_checkpoint = True
            if not self._has_state:  # --force: that of an earlier training
                (self.folder / STATE_FILE).unlink(missing_ok=True)

    def save_state(self, position: Position, fingerprint: dict[str, Any], arrays: list[np.ndarray]) -> None:
        with self._uncut():
            save_state(self.folder, position, fingerprint, arrays)
            self._has_state = True
            if not self._has_checkpoint:
                for name in self._files:
                    (self.folder / name).unlink(missing_ok=True)

    def save_cache(self, contents: Mapping[str, bytes]) -> None:
        """Files that spare a resumed training some work; they go with the state."""
        with self._uncut():
            write_files(self.folder, contents)
            self._caches |= set(contents)

    def keep_cache(self, name: str) -> None:
        """A cache of the training that is resumed; it goes with the state too."""
        self._caches.add(name)

    def remove_state(self) -> None:
        """Training is complete: there is nothing to resume."""
        for name in (STATE_FILE, *self._caches):
            (self.folder / name).unlink(missing_ok=True)
        self._has_state = False

    def remove_if_empty(self) -> None:
        """Removes the folders made here that hold nothing."""
        while self._made:
            try:
                self._made[-1].rmdir()
            except FileNotFoundError:
                pass
            except OSError:  # it holds something
                return
            self._made.pop()

    def outcome(self) -> str:
        """What a training that ends early has left, for its last line."""
        parts = []
        if self._has_state:
            parts.append("go on with --resume")
        if self._has_checkpoint:
            parts.append(f"the best checkpoint so far is kept in {self.folder}")
        return "; ".join(parts) or "nothing was written"

    @contextlib.contextmanager
    def ends_in_one_line(self, stream: TextIO) -> Iterator[None]:
        """Ctrl-C, SIGTERM and a full disk inside of the block; the line of a signal goes to `stream`."""
        self._stream = stream
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        except BrokenPipeError:  # of our own output: the caller knows
            raise
        except OSError as error:
            place = f": {error.filename}" if error.filename else ""
            raise InputError(f"{error.strerror or error}{place}; {self.outcome()}.") from error
        finally:
            self.remove_if_empty()
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def _uncut(self) -> Iterator[None]:
        self._make_folder()
        self._writing = True
        try:
            yield
        finally:
            self._writing = False
            if self._signal is not None:
                self._leave(self._signal)

    def _make_folder(self) -> None:
        missing = [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        for path in reversed(missing):
            self._made.append(path)  # first: a signal may come in between
            path.mkdir(exist_ok=True)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._writing:
            self._signal = number  # in a moment
        else:
            self._leave(number)

    def _leave(self, number: int) -> None:
        self.remove_if_empty()
        word = "interrupted" if number == signal.SIGINT else "terminated"
        with contextlib.suppress(OSError, ValueError, AttributeError):
            descriptor = self._stream.fileno() if self._stream else 2
            clear = "\r\033[K" if os.isatty(descriptor) else ""  # of the live line
            os.write(descriptor, f"{clear}export-mobile: {word}; {self.outcome()}\n".encode())
        os._exit(EXIT_INTERRUPTED if number == signal.SIGINT else 128 + number)
