"""A fine-tuned checkpoint of a token model as teacher of another: its outputs on all rows, computed once."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.checkpoints.vocabulary import in_vocabulary_of
from models_tf.encoder.batches import Predictor
from models_tf.encoder.heads import BASE, QUESTION_ANSWERING
from models_tf.encoder.model import Encoder
from models_tf.errors import InputError
from models_tf.spec import LOGITS
from models_tf.tasks import CLASSIFICATION, REGRESSION, SENTENCE_ORDER, TOKEN_CLASSIFICATION, task_of_head
from models_tf.tasks.rows import TaskRows
from models_tf.tokenizers.files import VOCAB
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training import teacher_cache
from models_tf.training.folder import TrainingFolder
from models_tf.training.progress import Progress, tell_rows
from models_tf.training.row_file import RowFile
from models_tf.training.teacher_labels import label_order
from models_tf.training.token_settings import HEAD_OF_TASK, TokenSettings
from models_tf.training.transfer_settings import NONE
from models_tf.training.windows import WindowedRows

# Rows of a window that the teacher answers at a time.
_ROWS = 2048


@dataclass(frozen=True, kw_only=True)
class Teaching:
    """A `teacher` for a student. `other` is its tokenizer if not the student's, `order` its number for each label."""

    teacher: EncoderCheckpoint
    other: Tokenizer | None
    order: Sequence[int]


def load_teacher(folder: Path, settings: TokenSettings) -> EncoderCheckpoint:
    """To learn its inner states a model without a head will do; there are no soft labels then."""
    teacher, task = checkpoint.load(folder), settings.task
    if teacher.head.kind == BASE and not settings.unlabelled and (settings.transfer != NONE or settings.reads_inside):
        return teacher
    own = task_of_head(teacher.head, several=teacher.gives_several)
    if teacher.head.kind != HEAD_OF_TASK[task] or (task == REGRESSION) != (own == REGRESSION):
        raise InputError(
            f"--teacher must be a model for {task}. Received: {folder}, a {teacher.head.kind} model"
            + (f" with {len(teacher.labels)} labels." if teacher.labels else ".")
        )
    return teacher


def other_tokenizer(
    teacher: EncoderCheckpoint, tokenizer: Tokenizer, settings: TokenSettings, folder: Path
) -> Tokenizer | None:
    """The teacher's tokenizer if it does not read the student's ids; None if both have the same vocabulary.

    Logits of whole texts and of words can be learned even so; anything with a place for each token cannot.
    """
    rows = teacher.config.vocab_size
    own = Tokenizer.from_files(teacher.tokenizer_files, str(folder)) if teacher.tokenizer_files else None
    if rows == tokenizer.vocab_size if own is None else own.fits(rows) and own.same_vocabulary(tokenizer):
        _check_positions(teacher, settings, folder)
        return None
    needs = _needs_one_vocabulary(settings)
    if own is None or needs:
        raise InputError(
            f"--teacher must have the student's vocabulary, {tokenizer.vocab_size} tokens"
            + (f", for {needs}" if needs else f", or a {VOCAB} of its own")
            + f". Received: {folder} with {'other tokens' if rows == tokenizer.vocab_size else rows}."
            + (f" Remedy: --vocab {folder}." if own else "")
        )
    own.check_embedding(rows)
    return own


def with_students_vocabulary(
    teacher: EncoderCheckpoint, tokenizer: Tokenizer, settings: TokenSettings
) -> EncoderCheckpoint:
    """If tokens are compared one by one, a teacher that knows the student's tokens and more reads the student's.

    That is the case if the student's vocabulary was pruned. Otherwise the teacher is unchanged.
    """
    if not _needs_one_vocabulary(settings) or teacher.config.vocab_size <= tokenizer.vocab_size:
        return teacher
    return in_vocabulary_of(teacher, tokenizer) or teacher


def _needs_one_vocabulary(settings: TokenSettings) -> str:
    """What was asked for that compares teacher and student token by token."""
    if settings.task not in (CLASSIFICATION, REGRESSION, SENTENCE_ORDER, TOKEN_CLASSIFICATION):
        return f"--task {settings.task}"
    flags = {
        "--hidden-weight": settings.hidden_weight,
        "--attention-weight": settings.attention_weight,
        "--init-from-teacher": settings.init_from_teacher,
        "--transfer": settings.transfer != NONE,
    }
    return next((flag for flag, asked in flags.items() if asked), "")


def _check_positions(teacher: EncoderCheckpoint, settings: TokenSettings, folder: Path) -> None:
    if settings.max_seq_len > teacher.config.max_positions:
        raise InputError(
            f"--max-seq-len must be at most the teacher's positions, {teacher.config.max_positions} of {folder}. "
            f"Received: {settings.max_seq_len}."
        )


def order_of(teacher: EncoderCheckpoint, labels: Sequence[str], settings: TokenSettings, folder: Path) -> list[int]:
    """The teacher's number of each of the student's labels."""
    if teacher.head.kind == BASE:
        return []
    if settings.task == REGRESSION:
        labels = teacher.labels  # one number, whatever it is called
    several, multi_label = teacher.gives_several, settings.multi_label
    return label_order(folder, teacher.labels, labels, several=several, multi_label=multi_label)


def teach(
    teacher: EncoderCheckpoint,
    rows: TaskRows,
    order: Sequence[int],
    *,
    folder: TrainingFolder,
    progress: Progress,
) -> dict[str, np.ndarray]:
    """The teacher's outputs on all rows by name, labels in the student's order; read from the folder if stored."""
    if teacher.head.kind == BASE:
        return {}
    kept = {name: teacher_cache.stored(folder, name, (len(rows),), of="of --train") for name in _output_names(teacher)}
    if all(answers is not None for answers in kept.values()):
        return {name: answers[np.arange(len(answers))] for name, answers in kept.items() if answers is not None}
    model = Encoder(teacher.config, teacher.head, teacher.tensors)
    found = Predictor(model)(rows.inputs, report=lambda done, all_rows: tell_rows(progress, "teacher", done, all_rows))
    if order:
        found = {LOGITS: np.ascontiguousarray(found[LOGITS][..., list(order)])}
    for name, value in found.items():
        teacher_cache.store(folder, name, value.shape, (value,))
    return found


def teach_windows(
    teaching: Teaching,
    rows: WindowedRows,
    read: Callable[[Any, TaskRows], TaskRows],
    learned: Callable[[TaskRows, TaskRows, np.ndarray], np.ndarray],
    *,
    folder: TrainingFolder,
    progress: Progress,
) -> dict[str, RowFile]:
    """As `teach`, for rows that are read in windows: the outputs stay in a file.

    `read` gives a window as the teacher reads it, from its rows before and after the student's tokenizer; `learned`
    what the student learns of the teacher's logits.
    """
    teacher, total = teaching.teacher, len(rows.file)
    if teacher.head.kind == BASE:
        return {}
    kept = teacher_cache.stored(folder, LOGITS, (total,), of="of --train")
    if kept is not None:
        return {LOGITS: kept}
    predict = Predictor(Encoder(teacher.config, teacher.head, teacher.tensors))

    def answers() -> Iterator[np.ndarray]:
        done = 0
        for window in rows.file.windows():
            for start in range(0, len(window), _ROWS):
                parsed = window[start : start + _ROWS]
                student = rows.encode(parsed)
                theirs = read(parsed, student)
                logits = predict(theirs.inputs)[LOGITS][..., list(teaching.order)]
                yield learned(student, theirs, logits)
                done += len(parsed)
                tell_rows(progress, "teacher", done, total)

    parts = answers()
    first = next(parts)
    parts = itertools.chain((first,), parts)
    return {LOGITS: teacher_cache.store(folder, LOGITS, (total, *first.shape[1:]), parts)}


def _output_names(teacher: EncoderCheckpoint) -> tuple[str, ...]:
    return ("start_logits", "end_logits") if teacher.head.kind == QUESTION_ANSWERING else (LOGITS,)
