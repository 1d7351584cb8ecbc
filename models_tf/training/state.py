"""The state of an interrupted training: one file, replaced as a whole, no pickle."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from models_tf.errors import InputError

STATE_FILE = "resume.safetensors"


@dataclass(kw_only=True)
class Position:
    """Where training stands."""

    epoch: int = 0
    batch: int = 0  # batches of this epoch already trained on
    step: int = 0
    best_accuracy: float = -1.0
    best_epoch: int = -1
    seconds: float = 0.0
    history: list[dict[str, float]] = field(default_factory=list)


def save_state(folder: Path, position: Position, fingerprint: dict[str, Any], arrays: list[np.ndarray]) -> None:
    from safetensors.numpy import save as to_bytes

    metadata = {"position": json.dumps(asdict(position)), "fingerprint": json.dumps(fingerprint, sort_keys=True)}
    temporary = folder / (STATE_FILE + ".tmp")
    temporary.write_bytes(to_bytes({f"{index:04d}": np.asarray(array) for index, array in enumerate(arrays)}, metadata))
    temporary.replace(folder / STATE_FILE)


def load_state(folder: Path, fingerprint: dict[str, Any]) -> tuple[Position, list[np.ndarray]]:
    from safetensors import SafetensorError, safe_open

    path = folder / STATE_FILE
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata()
            arrays = [file.get_tensor(name) for name in sorted(file.keys())]
    except SafetensorError as error:
        raise InputError(f"{path} is damaged: {error}. Remedy: train again with --force.") from error
    saved = json.loads(metadata["fingerprint"])
    wanted = json.loads(json.dumps(fingerprint, sort_keys=True))
    for key in sorted(set(saved) | set(wanted)):
        if saved.get(key) != wanted.get(key):
            raise InputError(
                f"--resume must have the settings it began with: {key} was {saved.get(key)!r}. "
                f"Received: {wanted.get(key)!r}."
            )
    return Position(**json.loads(metadata["position"])), arrays
