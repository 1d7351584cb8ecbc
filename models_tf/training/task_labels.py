"""The labels of a token model's head: a trained head's own where the training file fits them, else the file's."""

from collections.abc import Sequence
from pathlib import Path

from models_tf.checkpoints.encoder import EncoderCheckpoint, OpenCheckpoint
from models_tf.data import TaggedRow, labels_of, read_table, read_tagged
from models_tf.data.tag_scheme import check_tags
from models_tf.encoder.heads import ORDER_LABELS
from models_tf.errors import InputError
from models_tf.tasks import CLASSIFICATION, QUESTION_ANSWERING, REGRESSION, SENTENCE_ORDER, TOKEN_CLASSIFICATION
from models_tf.tasks.classification import CLASS_COLUMNS
from models_tf.tasks.rows import number_labels, shorten
from models_tf.training.token_settings import HEAD_OF_TASK, TokenSettings


def choose_labels(
    settings: TokenSettings, start: OpenCheckpoint | None, teacher: EncoderCheckpoint | None
) -> list[str]:
    """A trained head's labels where the file's fit them by name or by number; otherwise those of the file."""
    if settings.task == QUESTION_ANSWERING:
        return []
    if settings.task == SENTENCE_ORDER:
        return list(ORDER_LABELS)
    heads = [(start.head_kind, start.labels)] if start else []
    heads += [(teacher.head.kind, teacher.labels)] if teacher else []
    known = [labels for kind, labels in heads if kind == HEAD_OF_TASK[settings.task]]
    if settings.task == REGRESSION:
        return next((labels for labels in known if len(labels) == 1), ["LABEL_0"])
    found = _labels_of_file(settings)
    for labels in known:
        if len(labels) > 1 and (set(found) <= set(labels) or _are_numbers_of(found, labels)):
            return labels
    return found


def check_dev_tags(settings: TokenSettings, labels: Sequence[str]) -> None:
    """A tag in --dev that the head lacks could never be predicted, only missed."""
    if settings.task != TOKEN_CLASSIFICATION:
        return
    rows = _checked(settings.dev, settings)
    if _are_numbers_of(sorted({tag for row in rows for tag in row.tags}), labels):
        return
    for row in rows:
        for tag, line in zip(row.tags, row.lines, strict=True):
            if tag not in labels:
                raise InputError(
                    f"{settings.dev} line {line} must have a tag of the training file, {settings.train}. Received: {tag!r}; "
                    f"it has {shorten(labels)}."
                )


def _checked(path: Path, settings: TokenSettings) -> list[TaggedRow]:
    """The sentences of a file whose tags are well formed and of one scheme."""
    rows = list(read_tagged(path, settings.text_column, settings.label_column))
    if not rows:
        raise InputError(f"{path} must have sentences. Received: none.")
    entities = check_tags(rows, path)
    if not settings.loose_tags:
        entities.require_one_scheme(path)
    return rows


def _are_numbers_of(found: Sequence[str], labels: Sequence[str]) -> bool:
    try:
        number_labels([(name, 0) for name in found], labels, "")
    except InputError:
        return False
    return True


def _labels_of_file(settings: TokenSettings) -> list[str]:
    names: set[str] = set()
    if settings.task == TOKEN_CLASSIFICATION:
        for tagged in _checked(settings.train, settings):
            names |= set(tagged.tags)
    else:
        for row in read_table(
            settings.train,
            settings.text_column,
            settings.label_column,
            pair_column=settings.text_pair_column,
            guess_pairs=True,
            label_guesses=CLASS_COLUMNS,
        ):
            names |= set(labels_of(row, settings.train, None))
    if len(names) < 2 and settings.task == CLASSIFICATION:
        received = f"only {next(iter(names))!r}" if names else "no rows"
        raise InputError(f"{settings.train} must have at least 2 labels. Received: {received}.")
    return sorted(names, key=_natural)


def _natural(label: str) -> tuple[int, int, str]:
    """2 before 10, numbers before names."""
    number = label.isascii() and label.isdecimal() and len(label) < 18
    return (0, int(label), label) if number else (1, 0, label)
