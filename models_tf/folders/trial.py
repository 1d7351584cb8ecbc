"""Whether a folder can be written, found by writing: it and a file in it are made, then removed."""

import contextlib
import tempfile
from pathlib import Path

from models_tf.errors import InputError


def check_writable(folder: Path, flag: str) -> None:
    """Refuses a folder that cannot be made or written; leaves nothing behind."""
    made = []
    try:
        for path in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
            made.append(path)  # first: the run may end in between
            path.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"The folder {folder} cannot be written: {error.strerror or error}. Choose another {flag}."
        ) from error
    finally:
        for path in reversed(made):
            with contextlib.suppress(OSError):
                path.rmdir()
