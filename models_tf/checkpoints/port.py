"""Strict porting between PyTorch's tensors and ours: none missing, none unread, all shapes right, all values finite.

The names are in `rename.py`.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from models_tf.checkpoints.rename import PortLine
from models_tf.checkpoints.weights import WeightFiles
from models_tf.errors import InputError

# Names from the first (TensorFlow) checkpoints, still found in old files.
OLD_SUFFIXES = {".LayerNorm.gamma": ".LayerNorm.weight", ".LayerNorm.beta": ".LayerNorm.bias"}


def port(
    weights: WeightFiles,
    lines: Sequence[PortLine],
    shapes: Mapping[str, tuple[int, ...]],
    *,
    ignore: Collection[str] = (),
    all_of: str = "",
    absent: Collection[str] = (),
) -> dict[str, np.ndarray]:
    """Every tensor of `shapes` by our name, in that order.

    `ignore` are PyTorch's names that may exist and are not read, as are all that do not begin with `all_of`. `absent`
    are our names that may be missing; the result then lacks them.
    """
    by_name = {line.ours: line for line in lines}
    if set(by_name) != set(shapes) or len(by_name) != len(lines):
        raise ValueError(f"Every tensor must have one line. Received: {sorted(set(by_name) ^ set(shapes))}.")
    stored = _stored_names(weights)
    wanted = {line.theirs for line in lines}
    missing = [by_name[ours].theirs for ours in shapes if by_name[ours].theirs not in stored and ours not in absent]
    if missing:
        # If most are missing, the file belongs to another model; one of its names shows that best.
        others = [name for name in stored if name not in wanted] if len(missing) > len(shapes) / 2 else []
        received = f" Received: tensors of another model, such as {others[0]}." if others else ""
        raise InputError(
            f"{weights.folder}: the weights lack tensor {missing[0]}, which config.json asks for.{received}"
        )
    for theirs, name in stored.items():
        if theirs.startswith(all_of) and theirs not in wanted and theirs not in ignore:
            raise InputError(
                f"{weights.file(name)}: tensor {name} is not part of the model that config.json describes."
            )
    found = {}
    for ours, shape in shapes.items():
        line = by_name[ours]
        if line.theirs in stored:
            found[ours] = _read(weights, stored[line.theirs], line, shape)
    return found


def to_stored(tensors: Mapping[str, np.ndarray], lines: Sequence[PortLine]) -> dict[str, np.ndarray]:
    """The reverse of `port`: PyTorch's names and layout, float32."""
    missing = {line.ours for line in lines} ^ set(tensors)
    if missing:
        raise ValueError(f"Every tensor must have one line. Received: {sorted(missing)}.")
    found = {}
    for line in lines:
        value = tensors[line.ours]
        if value.dtype.kind != "f" or not np.isfinite(value).all():
            raise InputError(f"Weights that are saved must be finite. Received: NaN or infinity in {line.ours}.")
        found[line.theirs] = np.ascontiguousarray(line.put(value), np.float32)
    return found


def _stored_names(weights: WeightFiles) -> dict[str, str]:
    """Current name -> name in the file."""
    stored: dict[str, str] = {}
    for name in weights.names:
        today = name
        for old, new in OLD_SUFFIXES.items():
            if name.endswith(old):
                today = name.removesuffix(old) + new
        if today in stored:
            raise InputError(f"{weights.file(name)}: tensor {today} is there twice, as {stored[today]} and as {name}.")
        stored[today] = name
    return stored


def _read(weights: WeightFiles, name: str, line: PortLine, shape: tuple[int, ...]) -> np.ndarray:
    expected, received = line.stored_shape(shape), weights.shape(name)
    if received != expected:
        raise InputError(
            f"{weights.file(name)}: tensor {name} must have shape {expected}, as config.json says. "
            f"Received: {received}."
        )
    value = weights.read(name)
    if not np.isfinite(value).all():
        raise InputError(f"{weights.file(name)}: tensor {name} must be finite. Received: NaN or infinity.")
    return np.ascontiguousarray(line.take(value))
