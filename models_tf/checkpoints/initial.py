"""Weights before training: truncated normal as in BERT, norms 1 and 0, biases 0; ghosts have their own deviation."""

import zlib
from collections.abc import Mapping

import numpy as np

LIMIT = 2.0  # in standard deviations; values beyond it are drawn again
# A ghost's kernel goes through a softmax: ghosts must differ at the start, or they all learn the same.
GHOST_DEVIATION = 1.0


def initial_tensors(shapes: Mapping[str, tuple[int, ...]], deviation: float, seed: int) -> dict[str, np.ndarray]:
    """Each tensor depends only on its name and the seed: another head leaves the encoder unchanged."""
    return {name: _initial(name, shape, deviation, seed) for name, shape in shapes.items()}


def _initial(name: str, shape: tuple[int, ...], deviation: float, seed: int) -> np.ndarray:
    if name.endswith(".gamma"):
        return np.ones(shape, np.float32)
    if name.endswith((".beta", ".bias", ".gain")):
        return np.zeros(shape, np.float32)
    if ".ghost_" in name:
        deviation = GHOST_DEVIATION
    random = np.random.default_rng((seed, zlib.crc32(name.encode())))
    values = random.standard_normal(int(np.prod(shape)), np.float32)
    beyond = np.flatnonzero(np.abs(values) > LIMIT)
    while beyond.size:
        values[beyond] = random.standard_normal(beyond.size, np.float32)
        beyond = beyond[np.abs(values[beyond]) > LIMIT]
    values *= np.float32(deviation)
    return values.reshape(shape)
