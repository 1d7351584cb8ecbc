"""From a request to a trained token model: vocabulary, labels, rows, student, compression, teacher, loop.

A model may be made smaller before it is trained. Its vocabulary is pruned before any row is read; the rest is chosen on
the training rows. A resumed training chooses again on the same rows: its weights come from the saved state, and a state
of other widths is refused.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from exporters.compression.prepare import ChosenBy, compress_checkpoint
from exporters.compression.vocabulary import PrunedVocabulary, prune_vocabulary
from exporters.training.phases import with_phases
from exporters.training.request import TrainRequest
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.checkpoints.folder import RECORD_FILE
from models_tf.compress.notes import vocabulary_notes
from models_tf.errors import InputError
from models_tf.folders.links import path_inside
from models_tf.tasks import TOKEN_CLASSIFICATION
from models_tf.tasks.rows import Columns, TaskRows
from models_tf.tokenizers.backend import with_spaced_words
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training import student as students
from models_tf.training import token_data, token_teacher
from models_tf.training.folder import TrainingFolder
from models_tf.training.progress import Progress
from models_tf.training.task_labels import check_dev_tags, choose_labels
from models_tf.training.token_settings import HEAD_OF_TASK, TokenSettings
from models_tf.training.transfer_settings import JOINT, PROGRESSIVE


def train_tokens(
    request: TrainRequest,
    settings: TokenSettings,
    folder: TrainingFolder,
    progress: Progress,
    *,
    command: str,
    callbacks: Sequence[Any] = (),
    workers: Any = None,
) -> dict[str, Any]:
    """Checks everything it can, then trains. Writes nothing before the checks are done."""
    place = settings.teacher[0] if settings.teacher else None
    teacher = token_teacher.load_teacher(place, settings) if place else None
    start = checkpoint.open_checkpoint(settings.checkpoint, model=request.model) if settings.checkpoint else None
    files, source = students.tokenizer_files(settings, start, teacher)
    if settings.task == TOKEN_CLASSIFICATION and (start is None or start.head_kind != TOKEN_CLASSIFICATION):
        files = with_spaced_words(files)
    data = token_data.read_files(settings)
    pruned = _pruned(request, files, source, HEAD_OF_TASK[settings.task], data.by_path(settings))
    files = pruned.files if pruned else files
    tokenizer = Tokenizer.from_files(files, source)
    labels = choose_labels(settings, data.train, start, teacher)
    check_dev_tags(settings, data.dev, labels)
    order: list[int] = []
    other = None
    if teacher and place:
        teacher = token_teacher.with_students_vocabulary(teacher, tokenizer, settings)
        other = token_teacher.other_tokenizer(teacher, tokenizer, settings, place)
        order = token_teacher.order_of(teacher, labels, settings, place)
    if start is not None:
        student = students.stored_student(start, settings, labels, request.overrides)
        student = pruned.applied_to(student) if pruned else student
        tokenizer.check_embedding(student.config.vocab_size)
        for note in tokenizer.embedding_notes(student.config.vocab_size):
            progress.line(note)
    else:
        student = students.new_student(request.model, settings, tokenizer, labels, request.overrides)
        for note in students.tokenizer_notes(request.model, tokenizer):
            progress.line(note)
    student = dataclasses.replace(student, tokenizer_files=files)
    students.check_length(student, settings)
    rows = token_data.encode_all(data, settings, tokenizer, labels)
    student, removed = _compressed(request, student, rows.train, pruned, progress)
    _check_turns(settings, student)
    settings = with_phases(request, settings, student)

    from models_tf.training.token_training import fit

    return fit(
        student,
        rows,
        settings=settings,
        folder=folder,
        progress=progress,
        command=command,
        teacher=token_teacher.Teaching(teacher=teacher, other=other, order=order) if teacher else None,
        beside=record_file(removed, command, folder.path if request.resume else None),
        callbacks=callbacks,
        workers=workers,
    )


def _pruned(
    request: TrainRequest, files: dict[str, bytes], source: str, head: str, parsed: Mapping[Path, Any]
) -> PrunedVocabulary | None:
    """The vocabulary to train with, from `vocab_data`, by default from all texts of the training."""
    wanted = request.compression
    if wanted is None or not wanted.prune_vocab:
        return None
    own = (request.train, request.dev, request.unlabelled)
    texts = request.vocab_data or tuple(path for path in own if path is not None)
    columns = Columns(text=request.text_column, pair=request.text_pair_column, label=request.label_column)
    return prune_vocabulary(
        files, source, texts, head=head, columns=columns, characters=not wanted.drop_characters, parsed=parsed
    )


def _compressed(
    request: TrainRequest,
    student: EncoderCheckpoint,
    rows: TaskRows,
    pruned: PrunedVocabulary | None,
    progress: Progress,
) -> tuple[EncoderCheckpoint, dict[str, Any] | None]:
    """The student to train and the record of what was removed; without compression, the same student and None.

    `rows` and `student` already have the `pruned` vocabulary.
    """
    wanted = request.compression
    if wanted is None:
        return student, None
    for note in vocabulary_notes(pruned.record["vocabulary"]) if pruned else ():
        progress.line(note)
    settings = dataclasses.replace(wanted, prune_vocab=False)
    start = request.checkpoint.name if request.checkpoint else None
    record: dict[str, Any] = {"checkpoint": start, "data": request.train.name, **(pruned.record if pruned else {})}
    if pruned and settings.is_empty:
        return student, {**record, "model": student.model_name, "settings": wanted.to_dict()}
    if settings.needs_gradients and student.new_tensors:
        raise InputError(
            "Importance needs a checkpoint with a head for this task. "
            f"Received: {request.checkpoint}, whose head is new; train it first, then compress."
        )
    source = f"Checkpoint {request.checkpoint}"
    made = compress_checkpoint(student, settings, ChosenBy(rows=rows), source=source, note=progress.line)
    name = made.checkpoint.model_name
    return made.checkpoint, {**record, "model": name, **made.record, "settings": wanted.to_dict()}


def record_file(record: dict[str, Any] | None, command: str, resumed: Path | None = None) -> dict[str, bytes]:
    """What was removed, as a file beside every checkpoint of the training. A training `resumed` from a folder keeps the
    record by which its weights were chosen.
    """
    if record is None:
        return {}
    if resumed is not None and (resumed / RECORD_FILE).is_file():
        return {RECORD_FILE: path_inside(resumed, RECORD_FILE).read_bytes()}
    return {RECORD_FILE: (json.dumps({"command": command, **record}, indent=1) + "\n").encode()}


def _check_turns(settings: TokenSettings, student: EncoderCheckpoint) -> None:
    if settings.transfer == PROGRESSIVE and student.config.shared_layers:
        raise InputError(
            "--transfer progressive gives each layer a turn of its own, which layers that share weights do not have: "
            f"use --transfer {JOINT}. Received: shared layers {', '.join(map(str, student.config.shared_layers))}."
        )
