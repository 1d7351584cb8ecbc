"""Names the largest weight of a checkpoint, for the line that refuses a model whose numbers leave float32's range."""

from collections.abc import Mapping

import numpy as np

from models_tf import registry
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.encoder.heads import BASE


def largest_weight(checkpoint: EncoderCheckpoint) -> str:
    """Value and tensor, by the name that the checkpoint's file has for it."""
    family = registry.get(checkpoint.model_name).family()
    prefix = "" if checkpoint.head.kind == BASE else family.prefix
    stored = {line.ours: line.theirs for line in family.port_lines(checkpoint.config, checkpoint.head, prefix)}
    value, name = largest(checkpoint.tensors)
    return f"{value:g} in {stored.get(name, name)}"


def largest(tensors: Mapping[str, np.ndarray]) -> tuple[float, str]:
    """The value of largest size, of either sign, and the name of its tensor."""
    found = {name: max((float(values.min()), float(values.max())), key=abs) for name, values in tensors.items()}
    name = max(found, key=lambda each: abs(found[each]))
    return found[name], name


def is_finite(tensors: Mapping[str, np.ndarray]) -> bool:
    return all(bool(np.isfinite(values).all()) for values in tensors.values())
