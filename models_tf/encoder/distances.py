"""Which row of DeBERTa's table a distance of two tokens has."""

import numpy as np

from models_tf.encoder.config import EncoderConfig


def distances(part: str, longest: int) -> np.ndarray:
    """The place of the query less that of the key, for each of the 2 * `longest` columns of a table by distance.

    They fall for keys of distances and rise for queries: a row of scores moves by one column per token (`shifted`), and
    then both stand at the place of the other token. The last column is never read.
    """
    rising = np.arange(2 * longest) - (longest - 1)
    return rising if part == "query" else -rising


def rows_of(config: EncoderConfig, apart: np.ndarray) -> np.ndarray:
    """The row of each distance."""
    rows = config.distance_rows
    found = _buckets(apart, config.position_buckets, config.relative_span) if config.position_buckets else apart
    return np.clip(found + rows, 0, 2 * rows - 1).astype(np.int32)


def _buckets(apart: np.ndarray, buckets: int, span: int) -> np.ndarray:
    """Distances up to half of the buckets have one each, larger ones share the others, which grow by powers.

    In float32 and in this order, as PyTorch computes them: a power that is a whole number may be rounded up.
    """
    middle = buckets // 2
    far = np.maximum(np.abs(apart), middle).astype(np.float32)
    power = np.log(far / np.float32(middle)) / np.log(np.float32((span - 1) / middle))
    shared = np.ceil(power * np.float32(middle - 1)).astype(np.int64) + middle
    return np.where(np.abs(apart) <= middle, apart, np.sign(apart) * shared)
