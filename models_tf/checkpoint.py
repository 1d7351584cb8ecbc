"""A checkpoint folder: config.json, model.safetensors, labels.txt. No pickle, no code.

Loading is strict: a missing, unread or wrongly shaped tensor is an error that names it.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from models_tf import registry
from models_tf.errors import InputError

FORMAT = "export-mobile/1"
CONFIG_FILE, WEIGHTS_FILE, LABELS_FILE = "config.json", "model.safetensors", "labels.txt"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A model as values. `training` holds how it was made; nothing reads it back."""

    model_name: str
    config: Any
    labels: list[str]
    weights: dict[str, np.ndarray]
    training: dict[str, Any] = field(default_factory=dict)


def save(folder: Path, checkpoint: Checkpoint) -> None:
    from safetensors.numpy import save as to_bytes

    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "format": FORMAT,
        "model": checkpoint.model_name,
        "config": checkpoint.config.to_dict(),
        "training": checkpoint.training,
    }
    weights = {name: np.ascontiguousarray(value) for name, value in checkpoint.weights.items()}
    (folder / WEIGHTS_FILE).write_bytes(to_bytes(weights))
    (folder / LABELS_FILE).write_text("".join(label + "\n" for label in checkpoint.labels), encoding="utf-8")
    (folder / CONFIG_FILE).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def load(folder: Path) -> Checkpoint:
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"Checkpoint must be a folder with {CONFIG_FILE}. Received: {folder} (no such folder).")
    for name in (CONFIG_FILE, WEIGHTS_FILE, LABELS_FILE):
        if not (folder / name).is_file():
            raise InputError(f"Checkpoint folder {folder} lacks {name}: train one with `export-mobile train`.")
    document = _read_document(folder / CONFIG_FILE)
    entry = registry.get(document["model"])
    try:
        config = entry.config_class().from_dict(document["config"])
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{folder / CONFIG_FILE} is not a {entry.name} config: {error}") from error
    labels = _read_labels(folder / LABELS_FILE)
    if len(labels) != config.num_labels:
        raise InputError(
            f"{folder / LABELS_FILE} must hold {config.num_labels} labels, as config.json says. Received: {len(labels)}."
        )
    return Checkpoint(
        model_name=entry.name,
        config=config,
        labels=labels,
        weights=_read_weights(folder / WEIGHTS_FILE),
        training=document.get("training", {}),
    )


def build(checkpoint: Checkpoint) -> Any:
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
                f"{WEIGHTS_FILE}: tensor {name} must have shape {tuple(variable.shape)}. Received: {tuple(value.shape)}."
            )
        if not np.isfinite(value).all():
            raise InputError(f"{WEIGHTS_FILE}: tensor {name} must be finite. Received: NaN or infinity.")
        variable.assign(value)


def _tensor_name(variable: Any) -> str:
    return variable.name.removesuffix(":0")


def _read_document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} must be JSON. Received: {error}.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        received = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise InputError(f'{path} must have "format": "{FORMAT}". Received: {received!r}.')
    for key in ("model", "config"):
        if key not in document:
            raise InputError(f'{path} must have the key "{key}". Received: {", ".join(document)}.')
    unknown = sorted(set(document) - {"format", "model", "config", "training"})
    if unknown:
        raise InputError(f"{path} has an unknown key. Received: {', '.join(unknown)}.")
    return document


def _read_labels(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} must be UTF-8, a label a line. Received: {error}.") from error


def _read_weights(path: Path) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{path} is damaged or not a safetensors file: {error}.") from error
