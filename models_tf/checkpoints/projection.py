"""`ProjectionCheckpoint`: a model on projection features as values, read from and written to a folder.

The folder holds config.json, model.safetensors and labels.txt: no pickle, no code. Loading is strict: a missing, unread
or misshapen tensor is an error that names it. Saving over a checkpoint is safe: all files are on disk before the first
is replaced, and a kill in between leaves a folder that loads.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from models_tf import limits, registry
from models_tf.bounded_files import read_document
from models_tf.checkpoints.atomic_files import write_files
from models_tf.checkpoints.folder import lacking
from models_tf.checkpoints.json_text import read_json_file
from models_tf.data.labels import is_storable
from models_tf.errors import InputError
from models_tf.folders.links import path_inside

FORMAT = "export-mobile/1"
CONFIG_FILE, WEIGHTS_FILE, LABELS_FILE = "config.json", "model.safetensors", "labels.txt"


@dataclass(frozen=True, kw_only=True)
class ProjectionCheckpoint:
    """A model as values. `training` records how it was made; nothing reads it back. `files` are those read."""

    model_name: str
    config: Any
    labels: list[str]
    weights: dict[str, np.ndarray]
    training: dict[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = ()


def save(folder: Path, checkpoint: ProjectionCheckpoint) -> None:
    from safetensors.numpy import save as to_bytes

    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "format": FORMAT,
        "model": checkpoint.model_name,
        "config": checkpoint.config.to_dict(),
        "training": checkpoint.training,
    }
    weights = {name: np.ascontiguousarray(value) for name, value in checkpoint.weights.items()}
    # Weights of another epoch fit the config and labels already there; those of another model do not. In that case
    # the folder is not a checkpoint until the last rename.
    same = _is_same_model(folder, checkpoint)
    write_files(
        folder,
        {
            LABELS_FILE: "".join(label + "\n" for label in checkpoint.labels).encode(),
            WEIGHTS_FILE: to_bytes(weights),
            CONFIG_FILE: (json.dumps(document, indent=2) + "\n").encode(),
        },
        remove_first=None if same else CONFIG_FILE,
    )


def _is_same_model(folder: Path, checkpoint: ProjectionCheckpoint) -> bool:
    try:
        document = _read_document(folder / CONFIG_FILE)
        labels = _read_labels(folder / LABELS_FILE)
    except (OSError, InputError):
        return False
    wanted = (checkpoint.model_name, checkpoint.config.to_dict(), checkpoint.labels)
    return (document["model"], document["config"], labels) == wanted


def load(folder: Path) -> ProjectionCheckpoint:
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"Checkpoint must be a folder with {CONFIG_FILE}. Received: {folder} (no such folder).")
    _require(folder, CONFIG_FILE)
    document = _read_document(folder / CONFIG_FILE)  # first, since it tells if this is another kind of folder
    _require(folder, WEIGHTS_FILE, LABELS_FILE)
    entry = registry.get(document["model"])
    if entry.kind != registry.PROJECTION:
        raise InputError(
            f"{folder / CONFIG_FILE}: Unknown model of this format: expected "
            f"{' or '.join(registry.names(registry.PROJECTION))}. Received: {entry.name}."
        )
    try:
        config = entry.config_class().from_dict(document["config"])
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{folder / CONFIG_FILE} is not a config of {entry.name}: {error}") from error
    labels = _read_labels(folder / LABELS_FILE)
    if len(labels) != config.num_labels:
        raise InputError(
            f"{folder / LABELS_FILE} must hold {config.num_labels} labels, as config.json says. "
            f"Received: {len(labels)}."
        )
    return ProjectionCheckpoint(
        model_name=entry.name,
        config=config,
        labels=labels,
        weights=_read_weights(folder / WEIGHTS_FILE),
        training=document.get("training", {}),
        files=tuple(folder / name for name in (CONFIG_FILE, WEIGHTS_FILE, LABELS_FILE)),
    )


def _require(folder: Path, *names: str) -> None:
    for name in names:
        if not (folder / name).is_file():
            raise lacking(folder, name, "train one with `export-mobile train`")


def build(checkpoint: ProjectionCheckpoint) -> Any:
    """The Keras model with these weights."""
    model = registry.get(checkpoint.model_name).model_class()(checkpoint.config)
    set_weights(model, checkpoint.weights)
    return model


def tensors(model: Any) -> dict[str, np.ndarray]:
    """Weights by name, as stored."""
    return {_tensor_name(variable): variable.numpy() for variable in model.weights}


def set_weights(model: Any, weights: dict[str, np.ndarray]) -> None:
    variables = {_tensor_name(variable): variable for variable in model.weights}
    missing, unread = sorted(set(variables) - set(weights)), sorted(set(weights) - set(variables))
    if missing or unread:
        problem = f"lacks {missing[0]}" if missing else f"holds {unread[0]}, which the model does not have"
        raise InputError(f"{WEIGHTS_FILE} does not fit config.json: it {problem}.")
    for name, variable in variables.items():
        value = weights[name]
        if tuple(value.shape) != tuple(variable.shape):
            raise InputError(
                f"{WEIGHTS_FILE}: tensor {name} must have shape {tuple(variable.shape)}. "
                f"Received: {tuple(value.shape)}."
            )
        with np.errstate(over="ignore"):
            value = value.astype(np.float32)
        if not np.isfinite(value).all():
            raise InputError(f"{WEIGHTS_FILE}: tensor {name} must be finite. Received: NaN or infinity.")
        if name.endswith("moving_variance") and value.min() < 0:
            raise InputError(f"{WEIGHTS_FILE}: tensor {name} must be at least 0. Received: {value.min()}.")
        variable.assign(value)


def _tensor_name(variable: Any) -> str:
    return variable.name.removesuffix(":0")


def _read_document(path: Path) -> dict[str, Any]:
    document = read_json_file(path)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        wanted = f'"format": "{FORMAT}"'
        if isinstance(document, dict) and "format" not in document:
            wanted, received = f'{wanted} (PRADO, SGNN) or "model_type" (Hugging Face format)', "neither"
        else:
            received = repr(document["format"] if isinstance(document, dict) else type(document).__name__)
        raise InputError(f"{path} must have {wanted}. Received: {received}.")
    for key, kind, word in (("model", str, "text"), ("config", dict, "an object"), ("training", dict, "an object")):
        if key not in document and key != "training":
            raise InputError(f'{path} must have the key "{key}". Received: {", ".join(document)}.')
        if not isinstance(document.get(key, kind()), kind):
            raise InputError(f'{path}: "{key}" must be {word}. Received: {type(document[key]).__name__}.')
    unknown = sorted(set(document) - {"format", "model", "config", "training"})
    if unknown:
        raise InputError(f"{path} has an unknown key. Received: {', '.join(unknown)}.")
    return document


def _read_labels(path: Path) -> list[str]:
    try:
        lines = read_document(path_inside(path.parent, path.name)).decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} must be UTF-8, one label per line. Received: {error}.") from error
    labels = [line.removesuffix("\r") for line in (lines[:-1] if not lines[-1] else lines)]
    limits.check("labels", len(labels), str(path))
    for number, label in enumerate(labels, start=1):
        if not is_storable(label):
            received = f"{label!r} in line {number}" if label else f"an empty line {number}"
            raise InputError(f"{path} must hold one label per line, printable text. Received: {received}.")
    repeated = [label for label, count in Counter(labels).items() if count > 1]
    if repeated:
        raise InputError(f"{path} must hold different labels. Received: {repeated[0]!r} twice.")
    return labels


def _read_weights(path: Path) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        weights = load_file(path)
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{path} is damaged or not a safetensors file: {error}.") from error
    except (KeyError, TypeError, AttributeError) as error:  # a type numpy lacks
        raise InputError(f"{path} must hold tensors of type F16, F32 or F64. Received: {error}.") from error
    for name, value in weights.items():
        if value.dtype.kind != "f":
            raise InputError(f"{path} must hold tensors of type F16, F32 or F64. Received: {name} of {value.dtype}.")
    return weights
