"""A narrow word embedding and a matrix that widens it, by singular values: [V, H] becomes [V, E] x [E, H].

No product of these sizes is closer: the squared error is the sum of the squared singular values left out, and with
E = H it is zero. The values come from the H x H Gram matrix in float64; the table itself is never decomposed, which
keeps it fast. Each singular value is split evenly (as its square root) between a column of the narrow table and the row
of the matrix it meets, so that one scale serves a whole int8 table.
"""

import dataclasses

import numpy as np

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.network import Network


def factorize_embedding(network: Network, size: int) -> Network:
    """The word embedding `size` wide, followed by `embedding_projection` with a bias of 0 that can be trained.

    `size` must be at most the present width; if equal, the function does not change. An embedding that is already
    projected (ALBERT's too, whose norm comes first) is not made narrower here.
    """
    config = network.config
    if config.projects_embedding:
        raise ValueError(
            f"A word embedding can be factorised once. "
            f"Received: one of width {config.embedding_size} that is projected."
        )
    if not 1 <= size < config.hidden_size:
        raise ValueError(f"The embedding's size must be 1 to {config.hidden_size - 1}. Received: {size}.")
    words, kernel = factors(network.tensors["word_embedding"], size)
    changed = EncoderConfig(**{**config.to_dict(), "embedding_size": size})
    given = {
        **network.tensors,
        "word_embedding": words,
        "embedding_projection.kernel": kernel,
        "embedding_projection.bias": np.zeros(config.hidden_size, words.dtype),
    }
    tensors = {name: given[name] for name in changed.shapes(network.head) if name in given}
    return dataclasses.replace(network, config=changed, tensors=tensors)


def factors(table: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """[V, size] and [size, H] whose product is closest to `table` [V, H]."""
    exact = table.astype(np.float64)
    squares, vectors = np.linalg.eigh(exact.T @ exact)  # ascending
    vectors = vectors[:, ::-1][:, :size]
    values = np.sqrt(np.maximum(squares[::-1][:size], 0.0))
    # Smaller values are rounding noise of the Gram matrix: such a column is left as it is, almost zero.
    roots = np.sqrt(np.where(values > 1e-7 * max(values[0], np.finfo(np.float64).tiny), values, 1.0))
    words = (exact @ vectors) / roots  # table = U S V^T, so U S is table V
    return words.astype(table.dtype), (roots[:, None] * vectors.T).astype(table.dtype)


def discarded(table: np.ndarray, size: int) -> float:
    """The share of the table's sum of squares that `size` columns cannot represent, 0 to 1."""
    exact = table.astype(np.float64)
    squares = np.maximum(np.linalg.eigvalsh(exact.T @ exact), 0.0)
    return float(squares[: len(squares) - size].sum() / max(float(squares.sum()), np.finfo(np.float64).tiny))
