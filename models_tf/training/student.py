"""The model that a token training starts from: its tokenizer files, and a checkpoint's weights or random ones."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from models_tf import registry
from models_tf.bounded_files import read_document
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.document import MULTI_LABEL
from models_tf.checkpoints.encoder import EncoderCheckpoint, OpenCheckpoint
from models_tf.encoder.config import EncoderConfig
from models_tf.errors import InputError
from models_tf.tokenizers.files import MERGES, PIECES, SPIECE, SPIECE_FILES, TOKENIZER, VOCAB, read_tokenizer_files
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training.overrides import parse_value, split_override
from models_tf.training.token_settings import HEAD_OF_TASK, NO_VOCABULARY, TokenSettings

_SET_ELSEWHERE = {
    "model_type": "use --model",
    "vocab_size": "it is counted in --vocab",
    "num_labels": "they are counted in --train",
    "id2label": "they are counted in --train",
    "label2id": "they are counted in --train",
}
# How a vocabulary file with another name is read, by suffix.
_VOCABULARIES = {".model": SPIECE, ".json": TOKENIZER}
_DROPOUTS = ("hidden_dropout", "attention_dropout")
# Keys of a config.json that has them, and the tokens they are numbers of.
_BOS, _EOS = "bos_token_id", "eos_token_id"


def tokenizer_files(
    settings: TokenSettings, start: OpenCheckpoint | None, teacher: EncoderCheckpoint | None
) -> tuple[dict[str, bytes], str]:
    """The files of --vocab, else of --checkpoint, else of --teacher; and where they come from."""
    path = settings.vocab
    if path is not None:
        if path.is_dir():
            return read_tokenizer_files(path), str(path)
        if path.name in (PIECES, MERGES):
            raise InputError(f"--vocab must be a folder with {PIECES} and {MERGES}. Received: {path}, one of the two.")
        name = path.name if path.name in SPIECE_FILES else _VOCABULARIES.get(path.suffix, VOCAB)
        return {name: read_document(path)}, str(path)
    if start is not None:
        return start.tokenizer_files, str(settings.checkpoint)
    if teacher is not None and teacher.tokenizer_files:
        return teacher.tokenizer_files, str(settings.teacher[0])
    raise InputError(NO_VOCABULARY)


def stored_student(
    start: OpenCheckpoint, settings: TokenSettings, labels: Sequence[str], overrides: Sequence[str]
) -> EncoderCheckpoint:
    """The checkpoint's weights, with a new head if it has none for these labels. `overrides` may only set dropouts.

    A head that gave several labels may learn to give one, and the other way round.
    """
    head = HEAD_OF_TASK[settings.task]
    student = start.read(head=head, new_head_labels=labels, seed=settings.seed)
    student = dataclasses.replace(student, config=_with_dropouts(student, overrides))
    return _with_problem(student, settings)


def new_student(
    model: str, settings: TokenSettings, tokenizer: Tokenizer, labels: Sequence[str], overrides: Sequence[str]
) -> EncoderCheckpoint:
    """Random weights with a preset's sizes, changed by `overrides`; without tokenizer files."""
    document = _document(model, settings, tokenizer, overrides)
    head = HEAD_OF_TASK[settings.task]
    student = checkpoint.random_init(model, document, head=head, labels=labels, seed=settings.seed)
    return _with_problem(student, settings)


def tokenizer_notes(model: str, tokenizer: Tokenizer) -> tuple[str, ...]:
    """What to say of a new model with the tokens of another family."""
    usual = registry.get(model).family().tokens
    note = (
        f"The vocabulary has {tokenizer.kind} tokens, those of {model} are {usual}: it trains and exports, but other "
        f"programs expect {usual} of it."
    )
    return () if tokenizer.kind == usual else (note,)


def _with_problem(student: EncoderCheckpoint, settings: TokenSettings) -> EncoderCheckpoint:
    """`problem_type` tells whether a text has several labels."""
    if settings.multi_label:
        return dataclasses.replace(student, document={**student.document, "problem_type": MULTI_LABEL})
    if student.problem_type == MULTI_LABEL:
        document = {key: value for key, value in student.document.items() if key != "problem_type"}
        return dataclasses.replace(student, document=document)
    return student


def check_length(student: EncoderCheckpoint, settings: TokenSettings) -> None:
    if settings.max_seq_len > student.config.max_positions:
        raise InputError(
            f"--max-seq-len must be at most the model's positions, {student.config.max_positions}. "
            f"Received: {settings.max_seq_len}."
        )


def _with_dropouts(student: EncoderCheckpoint, overrides: Sequence[str]) -> EncoderConfig:
    """A trained model's sizes are fixed; its dropout rates can be chosen, by the keys of its family's config.json."""
    config, fields = student.config, registry.get(student.model_name).family().config.fields
    names = {field.key: field.name for field in fields if field.name in _DROPOUTS}
    for override in overrides:
        key, text = split_override(override)
        if text is None or key not in names:
            raise InputError(
                f"--set with --checkpoint must be KEY=VALUE with {' or '.join(names)}. Received: {override}."
            )
        try:
            config = EncoderConfig(**{**config.to_dict(), names[key]: float(parse_value(text, 0.0, override))})
        except InputError:
            raise
        except ValueError as error:
            raise InputError(str(error)) from error
    return config


def _document(model: str, settings: TokenSettings, tokenizer: Tokenizer, overrides: Sequence[str]) -> dict[str, Any]:
    """config.json of a new model: a preset, changed by --set."""
    family = registry.get(model).family()
    document = dict(family.preset(settings.preset))
    for override in overrides:
        key, text = split_override(override)
        if key in _SET_ELSEWHERE:
            raise InputError(f"--set cannot change {key}: {_SET_ELSEWHERE[key]}. Received: {override}.")
        if text is None or key not in document:
            raise InputError(
                f"--set must be KEY=VALUE with a key of {model}'s config.json. Received: {override}."
                + registry.nearest(key, tuple(document))
            )
        document[key] = parse_value(text, document[key], override)
    special = {key: number for key, number in ((_BOS, tokenizer.cls_id), (_EOS, tokenizer.sep_id)) if key in document}
    return {**document, **special, "vocab_size": tokenizer.vocab_size, "pad_token_id": tokenizer.pad_id}
