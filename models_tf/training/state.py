"""The state of an interrupted training: one file, replaced as a whole, no pickle."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models_tf.checkpoints.atomic_files import write_files
from models_tf.checkpoints.folder import STATE_FILE
from models_tf.checkpoints.json_text import parse_json
from models_tf.errors import InputError

# In a fingerprint: what the data files held, by flag.
DATA = "data"


@dataclass(kw_only=True)
class Position:
    """Where training stands."""

    epoch: int = 0
    batch: int = 0  # batches of this epoch already trained on
    rows: int = 0  # in these batches
    loss: float = 0.0  # summed over these rows
    hits: float = 0.0  # of these rows; NaN where there is nothing to count
    best_accuracy: float = -1.0
    best_epoch: int = -1
    better_epoch: int = -1  # the last one that was better, not only as good
    seconds: float = 0.0

    def begin_epoch(self, epoch: int, *, seconds: float) -> None:
        self.epoch, self.seconds = epoch, seconds
        self.batch, self.rows, self.loss, self.hits = 0, 0, 0.0, 0.0


def save_state(
    folder: Path, position: Position, fingerprint: dict[str, Any], arrays: list[np.ndarray], epochs: int
) -> None:
    """`epochs` are those of the whole training."""
    from safetensors.numpy import save as to_bytes

    metadata = {"position": _position_text(position), "fingerprint": json.dumps(fingerprint, sort_keys=True)}
    metadata["epochs"] = str(epochs)
    tensors = {f"{index:04d}": np.asarray(array) for index, array in enumerate(arrays)}
    write_files(folder, {STATE_FILE: to_bytes(tensors, metadata)})


def load_state(
    folder: Path, fingerprint: dict[str, Any], shapes: Sequence[tuple[int, ...]]
) -> tuple[Position, list[np.ndarray]]:
    """What `save_state` wrote; `fingerprint` and `shapes` are those of the training that continues."""
    from safetensors import SafetensorError, safe_open

    path = folder / STATE_FILE
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            arrays = [file.get_tensor(name) for name in sorted(file.keys())]
        saved = parse_json(metadata["fingerprint"], "The settings must be JSON.")
        position = _position(parse_json(metadata["position"], "The position must be JSON."))
        if not isinstance(saved, dict):
            raise InputError(f"The settings must be an object. Received: {type(saved).__name__}.")
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error
    wanted = json.loads(json.dumps(fingerprint, sort_keys=True))
    for key, before, now in _differences(saved, wanted):
        if key.startswith(f"{DATA}."):
            flag = "--" + key.removeprefix(f"{DATA}.").replace("_", "-")
            raise InputError(f"--resume must have the data it began with. Received: {flag} with other content.")
        raise InputError(f"--resume must have the settings it began with: {key} was {before!r}. Received: {now!r}.")
    if [array.shape for array in arrays] != [tuple(shape) for shape in shapes]:
        raise _damaged(path, "its tensors do not fit the model")
    return position, arrays


def interruption(folder: Path) -> tuple[str, ...]:
    """A note if the checkpoint in `folder` is of a training that was stopped, and can continue."""
    from safetensors import SafetensorError, safe_open

    path = folder / STATE_FILE
    if not path.is_file():
        return ()
    where = ""
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
        position = _position(parse_json(metadata["position"], "The position must be JSON."))
        where = f" after epoch {position.epoch} of {int(metadata['epochs'])}"
    except (SafetensorError, OSError, ValueError, KeyError):
        pass  # damaged, or of an earlier version: it was interrupted all the same
    note = f"The training of {folder} was interrupted{where}: this is its best epoch so far."
    return (f"{note} Repeat its train command with --resume to finish it.",)


def _differences(saved: dict[str, Any], wanted: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Settings that differ, for objects those inside. Absent and null are the same."""
    for key in sorted(set(saved) | set(wanted)):
        before, now = saved.get(key), wanted.get(key)
        if isinstance(before, dict) and isinstance(now, dict):
            yield from _differences(before, now, f"{prefix}{key}.")
        elif before != now:
            yield prefix + key, before, now


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(f"{path} is damaged: {reason.rstrip('.')}. Remedy: train again with --force.")


def _position_text(position: Position) -> str:
    values = asdict(position)
    return json.dumps({**values, "hits": None if math.isnan(position.hits) else position.hits})  # NaN is no JSON


def _position(values: Any) -> Position:
    expected = asdict(Position())
    if not isinstance(values, dict) or set(values) != set(expected):
        raise InputError(f"The position must have {', '.join(expected)}.")
    for name, default in expected.items():
        value = values[name]
        if name == "hits" and value is None:
            continue
        if type(value) not in (type(default), int) or not default <= value < 1e12:
            raise InputError(f"{name} must be a number from {default}. Received: {value!r}.")
    return Position(**{**values, "hits": math.nan if values["hits"] is None else values["hits"]})
