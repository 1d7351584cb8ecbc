"""A teacher's outputs in a file of the training folder, so that a resumed training need not compute them again."""

import io

import numpy as np

from models_tf.errors import InputError
from models_tf.training.folder import TrainingFolder

CACHE_FILE = "teacher_{name}.npy"


def stored(folder: TrainingFolder, name: str, shape: tuple[int, ...], *, of: str) -> np.ndarray | None:
    """The outputs stored for a resumed training, None if there are none.

    Their shape must begin with `shape`; `of` says what each row is for.
    """
    path = folder.path / CACHE_FILE.format(name=name)
    if not folder.resume or not path.is_file():
        return None
    try:
        found = np.load(path, allow_pickle=False)
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


def store(folder: TrainingFolder, name: str, answers: np.ndarray) -> None:
    if not np.isfinite(answers).all():
        raise InputError("--teacher must answer with finite numbers. Received: NaN or infinity.")
    stream = io.BytesIO()
    np.save(stream, answers, allow_pickle=False)
    folder.save_cache({CACHE_FILE.format(name=name): stream.getvalue()})
