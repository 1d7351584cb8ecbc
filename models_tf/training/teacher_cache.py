"""A teacher's outputs in a file of the training folder, so that a resumed training need not compute them again."""

import tempfile
from collections.abc import Iterable

import numpy as np

from models_tf.errors import InputError
from models_tf.training.folder import TrainingFolder
from models_tf.training.row_file import RowFile, RowWriter

CACHE_FILE = "teacher_{name}.npy"


def stored(folder: TrainingFolder, name: str, shape: tuple[int, ...], *, of: str) -> RowFile | None:
    """The outputs stored for a resumed training, None if there are none.

    Their shape must begin with `shape`; `of` says what each row is for.
    """
    path = folder.path / CACHE_FILE.format(name=name)
    if not folder.resume or not path.is_file():
        return None
    try:
        found = RowFile(path)
    except (ValueError, EOFError) as error:
        raise InputError(f"{path} is damaged: {error}. Remedy: train again with --force.") from error
    if found.shape[: len(shape)] != shape or found.dtype != np.float32:
        wanted = shape[0] if len(shape) == 1 else shape
        raise InputError(
            f"{path} must hold a row for each {of}, {wanted}. Received: {found.dtype} {found.shape}. "
            "Remedy: train again with --force."
        )
    folder.keep_cache(path.name)
    return found


def store(folder: TrainingFolder, name: str, shape: tuple[int, ...], answers: Iterable[np.ndarray]) -> RowFile:
    """Writes `answers`, the rows of an array of this `shape` some at a time, as they are computed."""
    file = CACHE_FILE.format(name=name)
    with tempfile.TemporaryFile(dir=folder.place) as stream:  # without a name: a teacher may be stopped at any moment
        rows = RowWriter(stream, shape)
        for part in answers:
            if not np.isfinite(part).all():
                raise InputError("--teacher must answer with finite numbers. Received: NaN or infinity.")
            rows.add(part)
        rows.finish()
        stream.seek(0)
        folder.save_cache(file, stream)
    return RowFile(folder.path / file)
