"""The labels of a token model's head: a trained head's own where the training file fits them, else the file's."""

from collections.abc import Sequence

from models_tf.data import labels_of, read_table, read_tagged
from models_tf.errors import InputError
from models_tf.huggingface.checkpoint import EncoderCheckpoint
from models_tf.tasks import CLASSIFICATION, QUESTION_ANSWERING, REGRESSION, TOKEN_CLASSIFICATION
from models_tf.tasks.classification import CLASS_COLUMNS
from models_tf.tasks.rows import number_labels
from models_tf.training.token_settings import HEAD_OF_TASK, TokenSettings


def choose_labels(
    settings: TokenSettings, start: EncoderCheckpoint | None, teacher: EncoderCheckpoint | None
) -> list[str]:
    """A trained head's labels where the file's fit them by name or by number; otherwise those of the file."""
    if settings.task == QUESTION_ANSWERING:
        return []
    known = [model.labels for model in (start, teacher) if model and model.head.kind == HEAD_OF_TASK[settings.task]]
    if settings.task == REGRESSION:
        return next((labels for labels in known if len(labels) == 1), ["LABEL_0"])
    found = _labels_of_file(settings)
    for labels in known:
        if len(labels) > 1 and (set(found) <= set(labels) or _are_numbers_of(found, labels)):
            return labels
    return found


def _are_numbers_of(found: Sequence[str], labels: Sequence[str]) -> bool:
    try:
        number_labels([(name, 0) for name in found], labels, "")
    except InputError:
        return False
    return True


def _labels_of_file(settings: TokenSettings) -> list[str]:
    names: set[str] = set()
    if settings.task == TOKEN_CLASSIFICATION:
        for tagged in read_tagged(settings.train, settings.text_column, settings.label_column):
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
