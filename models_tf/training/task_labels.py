"""The labels of a token model's head: a trained head's own if the training file fits them, else the file's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from models_tf.checkpoints.encoder import EncoderCheckpoint, OpenCheckpoint
from models_tf.data import TaggedRow, check_label_count, labels_of
from models_tf.data.tag_scheme import check_tags
from models_tf.encoder.heads import ORDER_LABELS
from models_tf.errors import InputError
from models_tf.tasks import CLASSIFICATION, QUESTION_ANSWERING, REGRESSION, SENTENCE_ORDER, TOKEN_CLASSIFICATION
from models_tf.tasks.rows import number_labels, shorten
from models_tf.training.token_settings import HEAD_OF_TASK, TokenSettings


def choose_labels(
    settings: TokenSettings, rows: Any, start: OpenCheckpoint | None, teacher: EncoderCheckpoint | None
) -> list[str]:
    """A trained head's labels if those of the training file's `rows` fit them by name or number; else the file's."""
    if settings.task == QUESTION_ANSWERING:
        return []
    if settings.task == SENTENCE_ORDER:
        return list(ORDER_LABELS)
    heads = [(start.head_kind, start.labels)] if start else []
    heads += [(teacher.head.kind, teacher.labels)] if teacher else []
    known = [labels for kind, labels in heads if kind == HEAD_OF_TASK[settings.task]]
    if settings.task == REGRESSION:
        return next((labels for labels in known if len(labels) == 1), ["LABEL_0"])
    found = _labels_of_rows(rows, settings)
    for labels in known:
        if (len(labels) > 1 or settings.multi_label) and (set(found) <= set(labels) or _are_numbers_of(found, labels)):
            return labels
    return found


def check_dev_tags(settings: TokenSettings, rows: Any, labels: Sequence[str]) -> None:
    """Refuses a tag in `rows` of --dev that the head lacks: it could never be predicted."""
    if settings.task != TOKEN_CLASSIFICATION:
        return
    _check_scheme(rows, settings.dev, settings)
    if _are_numbers_of(sorted({tag for row in rows for tag in row.tags}), labels):
        return
    for row in rows:
        for tag, line in zip(row.tags, row.lines, strict=True):
            if tag not in labels:
                raise InputError(
                    f"{settings.dev} line {line} must have a tag of the training file, {settings.train}. "
                    f"Received: {tag!r}; it has {shorten(labels)}."
                )


def _check_scheme(rows: Sequence[TaggedRow], path: Path, settings: TokenSettings) -> None:
    """The tags of a file must be well formed and follow one scheme."""
    entities = check_tags(rows, path)
    if not settings.loose_tags:
        entities.require_one_scheme(path)


def _are_numbers_of(found: Sequence[str], labels: Sequence[str]) -> bool:
    try:
        number_labels([(name, 0) for name in found], labels, "")
    except InputError:
        return False
    return True


def _labels_of_rows(rows: Any, settings: TokenSettings) -> list[str]:
    if settings.task == TOKEN_CLASSIFICATION:
        _check_scheme(rows, settings.train, settings)
        names = {tag for row in rows for tag in row.tags}
    else:
        separator = settings.label_separator if settings.multi_label else None
        names = {name for row in rows for name in labels_of(row, settings.train, separator)}
    if settings.task == CLASSIFICATION:
        check_label_count(names, settings.train, several=settings.multi_label)
    return sorted(names, key=_natural)


def _natural(label: str) -> tuple[int, int, str]:
    """2 before 10, numbers before names."""
    number = label.isascii() and label.isdecimal() and len(label) < 18
    return (0, int(label), label) if number else (1, 0, label)
