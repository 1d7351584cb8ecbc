"""The labels of a row: one or several, and only such as labels.txt gives back. Training and export split alike."""

import re
from collections.abc import Collection
from pathlib import Path

from models_tf.data.table import Row
from models_tf.errors import InputError

DEFAULT_SEPARATOR = "|"
# The probability from which a label counts, where a text may have several.
DEFAULT_THRESHOLD = 0.5
# Controls, line separators, halves of a surrogate pair and the byte order mark: a line of labels.txt loses them.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")


def labels_of(row: Row, path: Path, separator: str | None) -> list[str]:
    """Labels of a row; without a separator there must be one. A JSON list is taken as it is."""
    if isinstance(row.label, tuple):
        found = [label.strip() for label in row.label]
        if not all(found):
            raise InputError(
                f"{path} line {row.line} must have labels that are not empty. Received: {list(row.label)}."
            )
    else:
        parts = [row.label] if separator is None else row.label.split(separator)
        found = [part.strip() for part in parts if part.strip()]
    if separator is None and len(found) != 1:
        received = "an empty field (only a multi-label model has texts without labels)"
        if found:
            received = f"{len(found)} (several are for multi-label models)"
        raise InputError(f"{path} line {row.line} must have a label. Received: {received}.")
    for label in found:
        if not is_storable(label):
            raise InputError(
                f"{path} line {row.line} must have labels without control characters, line separators and lone "
                f"surrogates. Received: {label!r}."
            )
    return found


def check_label_count(found: Collection[str], path: Path, *, several: bool) -> None:
    """Refuses a training file with nothing to choose from: `found` are the labels of all of its rows."""
    if len(found) < (1 if several else 2):
        wanted = "a row with a label" if several else "at least 2 labels"
        raise InputError(f"{path} must have {wanted}. Received: {f'only {next(iter(found))!r}' if found else 'none'}.")


def is_storable(label: str) -> bool:
    """Whether labels.txt, one label per line, gives it back."""
    return bool(label) and not _UNSAFE.search(label)


def check_separator(separator: str) -> None:
    if not separator:
        raise InputError("--label-separator must not be empty. Received: ''.")


def check_threshold(threshold: float | None) -> None:
    if threshold is not None and not 0.0 < threshold < 1.0:
        raise InputError(f"--label-threshold must be a probability between 0 and 1. Received: {threshold:g}.")


# A checkpoint that no threshold is for.
ONE_LABEL = "a checkpoint with one label per text"


def check_threshold_use(threshold: float | None, *, multi_label: bool, received: str) -> None:
    """A threshold chooses among several labels; of one label per text the largest counts."""
    if threshold is not None and not multi_label:
        raise InputError(
            f"--label-threshold is for models that give a text several labels. Received: {received}; leave it out."
        )
