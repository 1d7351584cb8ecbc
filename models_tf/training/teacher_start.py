"""Weights outside of the layers that start from a teacher's, as the paper starts them.

Between equal shapes they are copied. From a BERT of another width it is ours, not the paper's: the word table is cut to
the student's rank by a singular value decomposition, positions and segments go into the first channels, and the norm
gets the scale that the teacher's layer norm has on average.
"""

from collections.abc import Mapping

import numpy as np

from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.encoder.config import NO_NORM, EncoderConfig
from models_tf.errors import InputError
from models_tf.spec import IDS, MASK

_SCALE_ROWS = 256  # thousands of tokens
_OUTSIDE = ("word_embedding", "embedding_projection.", "position_embedding", "segment_embedding", "embedding_norm.")


def start_from_teacher(
    tensors: Mapping[str, np.ndarray],
    config: EncoderConfig,
    teacher: EncoderCheckpoint,
    inputs: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """`tensors` of the student with the embedding of the teacher; the first of `inputs` give the scale."""
    same = {name for name, value in tensors.items() if teacher.tensors.get(name, np.zeros(0)).shape == value.shape}
    names = {name for name in tensors if name.startswith(_OUTSIDE)}
    poolers = {name for name in same if name.startswith("pooler.")}
    copied = {name: teacher.tensors[name] for name in (names & same) | poolers}
    if names <= same:
        return {**tensors, **copied}
    if teacher.config.projects_embedding or not config.projects_embedding or config.sum_before_projection:
        if "word_embedding" not in copied:
            raise InputError(
                f"--init-from-teacher needs a teacher with words as wide as the student's, {config.embedding_size}, or "
                f"as wide as its layers. Received: {teacher.config.embedding_size}."
            )
        return {**tensors, "word_embedding": copied["word_embedding"]}
    return {**tensors, **_projected(tensors, config, teacher, inputs)}


def _projected(
    tensors: Mapping[str, np.ndarray],
    config: EncoderConfig,
    teacher: EncoderCheckpoint,
    inputs: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    words, positions, segments = (
        teacher.tensors[name].astype(np.float64)
        if name in teacher.tensors
        else np.zeros((teacher.config.max_positions, teacher.config.hidden_size))
        # Not every teacher has positions or segments.
        for name in ("word_embedding", "position_embedding", "segment_embedding")
    )
    # A layer norm takes the mean of the channels away; that is linear, so the tables can do it.
    words, positions, segments = (table - table.mean(-1, keepdims=True) for table in (words, positions, segments))
    width, rank = min(words.shape[1], config.hidden_size), min(config.embedding_size, words.shape[1])
    _, vectors = np.linalg.eigh(words.T @ words)
    basis = vectors[:, ::-1][:, :rank]  # [teacher's width, rank], the strongest directions first
    found = {name: tensors[name].astype(np.float64) for name in tensors if name.startswith(_OUTSIDE)}
    found["word_embedding"][:, :rank] = words @ basis
    size = config.embedding_size
    middle = size if config.trigram else 0  # [next, current, previous]
    found["embedding_projection.kernel"][middle : middle + rank, :width] = basis.T[:, :width]
    length, count = min(len(positions), config.max_positions), min(len(segments), config.num_segments)
    found["position_embedding"][:length, :width] = positions[:length, :width]
    if count:
        found["segment_embedding"][:count, :width] = segments[:count, :width]
    if config.norm == NO_NORM:
        rows, places = np.nonzero(inputs[MASK][:_SCALE_ROWS])
        tokens = inputs[IDS][rows, places]
        deviation = float((words[tokens] + positions[places] + segments[0]).std(-1).mean())
        gamma, beta = teacher.tensors["embedding_norm.gamma"], teacher.tensors["embedding_norm.beta"]
        found["embedding_norm.gamma"][:] = gamma.mean() / deviation
        found["embedding_norm.gamma"][:width] = gamma[:width] / deviation
        found["embedding_norm.beta"][:width] = beta[:width]
    return {name: value.astype(np.float32) for name, value in found.items()}
