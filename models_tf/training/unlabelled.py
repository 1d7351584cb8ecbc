"""Distillation on texts without labels: a teacher's logits at each word's first piece are all there is to learn.

The other pieces of a word, special tokens and padding are in no loss. Teacher and student may cut words into different
pieces: what the teacher says of a word stands at its own first piece, and is learned at the student's. Leaves out the
teacher's inside (`transfer.py`, `inner_distillation.py`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.encoder.batches import INPUTS, Predictor, lengths_of
from models_tf.encoder.model import Encoder
from models_tf.spec import LOGITS
from models_tf.tasks.losses import soft_cross_entropy
from models_tf.tasks.tagging import NO_LOSS, TaggingRows
from models_tf.training import teacher_cache
from models_tf.training.batches import like_length
from models_tf.training.folder import TrainingFolder
from models_tf.training.progress import Progress, tell_rows

CACHE_NAME = "words"
PLACE, SOFT = "place", "soft"
# Rows that the teacher answers before their words are picked: it answers at every piece.
_CHUNK = 2048
# A teacher that does not see a word leaves it to the label: as sure of it as float32 can be at any usual temperature.
_SURE = 50.0


@dataclass(frozen=True, kw_only=True)
class Words:
    """Words of a file that have a piece, in order: row, number in the row, position of the first piece."""

    rows: np.ndarray
    words: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, rows: TaggingRows) -> "Words":
        found, words = np.nonzero(rows.first >= 0)
        return cls(rows=found, words=words, places=rows.first[found, words])


def teach_words(
    teacher: EncoderCheckpoint,
    rows: TaggingRows,
    order: Sequence[int],
    *,
    folder: TrainingFolder,
    progress: Progress,
) -> np.ndarray:
    """The teacher's logits [words, labels] at `Words.of(rows)`, labels in the student's order; from the folder if they
    are there.
    """
    words = Words.of(rows)
    shape = len(words.rows), len(order)
    kept = teacher_cache.stored(folder, CACHE_NAME, shape, of="word of --unlabelled")
    if kept is not None:
        return kept[np.arange(len(kept))]
    predict = Predictor(Encoder(teacher.config, teacher.head, teacher.tensors))
    found = np.zeros(shape, np.float32)
    for start in range(0, len(rows), _CHUNK):
        end = min(start + _CHUNK, len(rows))
        logits = predict({name: rows.inputs[name][start:end] for name in INPUTS})[LOGITS]
        low, high = np.searchsorted(words.rows, (start, end))
        found[low:high] = logits[words.rows[low:high] - start, words.places[low:high]][:, list(order)]
        tell_rows(progress, "teacher, unlabelled", end, len(rows))
    teacher_cache.store(folder, CACHE_NAME, shape, (found,))
    return found


def teach_unlabelled(
    teacher: EncoderCheckpoint, student: TaggingRows, read: TaggingRows, order: Sequence[int], **teaching: Any
) -> "Taught":
    """`student` and `read` are the same sentences, as the student and as the teacher read them."""
    return Taught.of(student, read, teach_words(teacher, read, order, **teaching))


def at_students_pieces(read: TaggingRows, student: TaggingRows, logits: np.ndarray) -> np.ndarray:
    """A teacher's logits [rows, its places, labels] at the places of the student's first pieces, for the stage with
    labels. A word that the teacher does not see gets its label.
    """
    found = np.zeros((*student.inputs[INPUTS[0]].shape, logits.shape[2]), np.float32)
    words = Words.of(student)
    first = read.first[words.rows, words.words]
    seen = first >= 0
    found[words.rows[seen], words.places[seen]] = logits[words.rows[seen], first[seen]]
    if student.tags is not None:
        rows, places = words.rows[~seen], words.places[~seen]
        found[rows, places, student.tags[rows, words.words[~seen]]] = _SURE
    return found


@dataclass(frozen=True, kw_only=True)
class Taught:
    """Rows of the student with the teacher's logits: word n lies at `places[n]` of row `rows[n]`, sorted by row."""

    inputs: Mapping[str, np.ndarray]
    rows: np.ndarray
    places: np.ndarray
    logits: np.ndarray

    @classmethod
    def of(cls, student: TaggingRows, read: TaggingRows, logits: np.ndarray) -> "Taught":
        """`logits` belong to `Words.of(read)`, the same sentences as the teacher reads them."""
        words = Words.of(student)
        number = np.full(read.first.shape, NO_LOSS, np.int64)
        theirs = Words.of(read)
        number[theirs.rows, theirs.words] = np.arange(len(theirs.rows))
        numbers = number[words.rows, words.words]
        both = numbers >= 0
        return cls(
            inputs=student.inputs, rows=words.rows[both], places=words.places[both], logits=logits[numbers[both]]
        )


class UnlabelledBatches:
    """Batches of rows without labels, with the teacher's logits of their words."""

    def __init__(self, taught: Taught, *, batch_size: int, seed: int) -> None:
        self.taught, self.batch_size, self.seed = taught, batch_size, seed
        self.lengths = lengths_of(taught.inputs)
        self.starts = np.searchsorted(taught.rows, np.arange(len(self.lengths) + 1))
        self.steps_per_epoch = math.ceil(len(self.lengths) / batch_size)

    def signature(self) -> dict[str, tf.TensorSpec]:
        found = {name: tf.TensorSpec((None, None), tf.int32) for name in INPUTS}
        labels = self.taught.logits.shape[1]
        return {**found, PLACE: tf.TensorSpec((None, 2), tf.int32), SOFT: tf.TensorSpec((None, labels), tf.float32)}

    def batches(self, epoch: int, skip: int) -> Iterator[tuple[int, dict[str, tf.Tensor]]]:
        # The third number keeps the order apart from that of the labelled rows.
        generator = np.random.default_rng((self.seed, epoch, 1))
        for index, rows in enumerate(like_length(self.lengths, self.batch_size, generator)):
            if index >= skip:
                yield len(rows), self.batch(rows)

    def batch(self, rows: np.ndarray) -> dict[str, tf.Tensor]:
        taught, length = self.taught, int(self.lengths[rows].max())
        counts = self.starts[rows + 1] - self.starts[rows]
        words = np.concatenate([np.arange(self.starts[row], self.starts[row + 1]) for row in rows])
        place = np.stack([np.repeat(np.arange(len(rows)), counts), taught.places[words]], axis=1)
        batch = {name: tf.constant(taught.inputs[name][rows, :length]) for name in INPUTS}
        return {**batch, PLACE: tf.constant(place, tf.int32), SOFT: tf.constant(taught.logits[words])}


def words_loss(logits: tf.Tensor, place: tf.Tensor, soft: tf.Tensor, temperature: float) -> tuple[tf.Tensor, tf.Tensor]:
    """`logits` [row, time, label] at the `place`s [word, (row, time)] against the teacher's `soft` [word, label].

    The mean over the words of a batch, and how many rows are like the teacher (words: their part of them).
    """
    ours = tf.gather_nd(logits, place)
    count = tf.maximum(tf.cast(tf.shape(place)[0], tf.float32), 1.0)
    loss = tf.reduce_sum(soft_cross_entropy(ours, soft, temperature)) / count
    alike = tf.reduce_sum(tf.cast(tf.equal(tf.argmax(ours, -1), tf.argmax(soft, -1)), tf.float32))
    return loss, alike * tf.cast(tf.shape(logits)[0], tf.float32) / count
