"""Trains a token model on rows that are read: the teacher answers first, then the loop runs."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import tf_keras as keras

from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.training import token_data
from models_tf.training.folder import TrainingFolder
from models_tf.training.progress import Progress
from models_tf.training.teacher_start import start_from_teacher
from models_tf.training.token_data import TrainingRows
from models_tf.training.token_learner import TokenLearner
from models_tf.training.token_settings import TokenSettings
from models_tf.training.token_teacher import Teaching
from models_tf.training.trainer import Trainer
from models_tf.training.workers import Workers


def fit(
    student: EncoderCheckpoint,
    rows: TrainingRows,
    *,
    settings: TokenSettings,
    folder: TrainingFolder,
    progress: Progress,
    command: str,
    teacher: Teaching | None = None,
    beside: Mapping[str, bytes] | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    workers: Workers | None = None,
) -> dict[str, Any]:
    """The record of the training; the checkpoint is in the folder, with the files `beside` it."""
    keras.utils.set_random_seed(settings.seed)
    for note in dict.fromkeys((*_head_notes(student, settings), *rows.notes)):
        progress.line(note)
    soft, taught = None, None
    if teacher:
        if settings.init_from_teacher:
            tensors = start_from_teacher(student.tensors, student.config, teacher.teacher, rows.train.inputs)
            student = dataclasses.replace(student, tensors=tensors)
        soft, taught = token_data.ask_teacher(teacher, rows, settings, folder=folder, progress=progress)
    if settings.from_scratch:
        # Beside the last token a trigram sees padding or nothing: with a row of zeros, which stays as it is, they are
        # the same, and a model trained on short batches answers alike in a graph of fixed length.
        words = student.tensors["word_embedding"].copy()
        words[student.config.pad_id] = 0.0
        student = dataclasses.replace(student, tensors={**student.tensors, "word_embedding": words})
    learner = TokenLearner(
        student,
        rows.train,
        rows.dev,
        settings=settings,
        folder=folder,
        command=command,
        soft=soft,
        teacher=teacher.teacher if teacher else None,
        unlabelled=taught,
        beside=beside,
        windowed=rows.windowed,
    )
    trainer = Trainer(
        learner,
        settings=settings,
        folder=folder,
        progress=progress,
        callbacks=callbacks,
        workers=workers,
        teachers=teacher.teacher.files if teacher else (),
    )
    if (soft or taught) and not folder.resume:
        trainer.save_state()  # the teacher's work can be resumed from the start
    return trainer.run()


def _head_notes(student: EncoderCheckpoint, settings: TokenSettings) -> tuple[str, ...]:
    if settings.checkpoint is None or not student.new_tensors:
        return ()
    return (f"{settings.checkpoint} has no head for this task and these labels: a new one is drawn at random.",)
