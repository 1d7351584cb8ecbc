"""What is exported: the checkpoint of a request, its Keras model and its projection on the host."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from exporters.request import ExportRequest
from models_tf import checkpoint
from models_tf.checkpoint import Checkpoint
from models_tf.errors import InputError
from models_tf.ops.projection.library import HostProjection


def load(request: ExportRequest) -> Checkpoint:
    """The checkpoint, with the length of the request. Needs no TensorFlow."""
    loaded = checkpoint.load(request.checkpoint_folder)
    if request.model is not None and request.model != loaded.model_name:
        raise InputError(
            f"--model must be that of the checkpoint, {loaded.model_name}. Received: {request.model}; leave it out."
        )
    if request.max_seq_len is None:
        return loaded
    try:
        config = dataclasses.replace(loaded.config, max_seq_len=request.max_seq_len)
    except ValueError as error:
        raise InputError(f"--max-seq-len does not fit the model: {error}") from error
    return dataclasses.replace(loaded, config=config)


def build(origin: Checkpoint) -> Any:
    """The Keras model with its weights."""
    return checkpoint.build(origin)


def projection(origin: Checkpoint) -> HostProjection:
    """The projection as the files have it: padded to the static length, without the typos of training."""
    settings = origin.config.projection
    try:
        padded = dataclasses.replace(settings, pad_to=origin.config.max_seq_len, distortion=0.0)
    except ValueError as error:
        raise InputError(f"--max-seq-len does not fit the projection: {error}") from error
    return HostProjection(padded)


def projector(host: HostProjection) -> Callable[[Sequence[bytes]], np.ndarray]:
    """Texts -> features int8 [rows, time, feature]."""
    return lambda texts: host.project(texts)[0]


def calibration(host: HostProjection, texts: Sequence[str]) -> Callable[[], Iterator[np.ndarray]]:
    """Gives the features of the texts, a row at a time: long sequences would not fit in memory together."""
    return lambda: (host.project([text])[0] for text in texts)


def describe(origin: Checkpoint, request: ExportRequest) -> dict[str, Any]:
    """The model, for the report."""
    config = origin.config
    return {
        "name": origin.model_name,
        "task": request.checkpoint_folder.resolve().name,
        "bundled": request.checkpoint is None,
        "num_labels": len(origin.labels),
        "multi_label": config.multi_label,
        "parameters": int(sum(value.size for value in origin.weights.values())),
        "max_seq_len": config.max_seq_len,
        "feature_size": config.projection.feature_size,
        "features": config.projection.features,
    }
