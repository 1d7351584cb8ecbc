"""Teachers: what a student learns beside the labels.

Trained checkpoints, which read the clean text whatever typos the student's copy has: projection models in every batch,
token models before the training (`text_teacher.py`). Or logits that another program has computed for every row.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import tensorflow as tf

from models_tf.checkpoints import projection as checkpoint
from models_tf.errors import InputError
from models_tf.training.features import project
from models_tf.training.row_file import RowFile
from models_tf.training.teacher_labels import label_order

# Rows of stored logits looked at together: a file of any size is checked in little memory.
_CHECKED_ROWS = 65_536
# How far above chance the best label must be on average. Students of a teacher at 0.07 were worse than without one.
_SURE, _SAMPLED_ROWS = 0.2, 4096


class Teacher(Protocol):
    def probabilities(self, texts: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """`[batch, label]`, at the teacher's temperature."""
        ...


class CheckpointTeacher:
    """A projection model."""

    def __init__(self, folder: Path, labels: Sequence[str], temperature: float, multi_label: bool) -> None:
        loaded = checkpoint.load(folder)
        several = loaded.config.multi_label
        self.order = label_order(folder, loaded.labels, labels, several=several, multi_label=multi_label)
        self.temperature, self.multi_label, self.files = temperature, multi_label, loaded.files
        self.model = checkpoint.build(loaded)
        self.model.trainable = False

    def probabilities(self, texts: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:  # noqa: ARG002 - the protocol's
        logits = self.model.features_to_logits(project(texts, self.model.config))
        return _activate(tf.gather(logits, self.order, axis=-1) / self.temperature, self.multi_label)


class AveragedTeachers:
    """Several teachers of any kind, each with the same say."""

    def __init__(self, teachers: Sequence[Teacher]) -> None:
        self.teachers = teachers

    def probabilities(self, texts: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        return tf.add_n([teacher.probabilities(texts, rows) for teacher in self.teachers]) / len(self.teachers)


class LogitsTeacher:
    """Logits `[rows, labels]` that were computed before."""

    def __init__(self, logits: RowFile, temperature: float, multi_label: bool) -> None:
        self.logits, self.temperature, self.multi_label = logits, temperature, multi_label

    def probabilities(self, texts: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:  # noqa: ARG002 - the protocol's
        logits = tf.numpy_function(lambda index: self.logits[index].astype(np.float32), [rows], tf.float32)
        logits = tf.ensure_shape(logits, (None, self.logits.shape[1]))
        return _activate(logits / self.temperature, self.multi_label)

    def note(self) -> str:
        """A line to show if the answers are so flat that little can be learned from them; else nothing."""
        if self.multi_label:
            return ""
        first = next(iter(self.logits.blocks(_SAMPLED_ROWS))).astype(np.float32)
        best = float(tf.reduce_mean(tf.reduce_max(tf.nn.softmax(first / self.temperature), -1)))
        chance = 1 / self.logits.shape[1]
        if best - chance >= _SURE * (1 - chance):
            return ""
        return (
            f"The teacher is unsure: at --temperature {self.temperature:g} its best label has {100 * best:.0f} % on "
            "average, so there is little to learn. Train it longer, or lower --temperature."
        )


class StoredTeacher(LogitsTeacher):
    """A `.npy` file of them that another program has written."""

    def __init__(
        self, path: Path, rows: int, labels: int, temperature: float, multi_label: bool, *, origin: str = "of --train"
    ) -> None:
        """`origin` says where the rows come from."""
        try:
            super().__init__(RowFile(path), temperature, multi_label)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"--teacher-logits must be a .npy file of numbers. Received: {path} ({error}).") from error
        if self.logits.shape != (rows, labels) or self.logits.dtype.kind != "f":
            raise InputError(
                f"--teacher-logits must hold floats of shape {(rows, labels)}, a row for each row {origin}. "
                f"Received: {self.logits.dtype} {self.logits.shape}."
            )
        for number, block in enumerate(self.logits.blocks(_CHECKED_ROWS)):
            bad = ~np.isfinite(block).all(axis=1)
            if bad.any():
                row = number * _CHECKED_ROWS + int(bad.argmax())
                where = f"row {row} of {path} (0 is the first)"
                raise InputError(f"--teacher-logits must be finite. Received: NaN or infinity in {where}.")


def _activate(logits: tf.Tensor, multi_label: bool) -> tf.Tensor:
    return tf.sigmoid(logits) if multi_label else tf.nn.softmax(logits)
