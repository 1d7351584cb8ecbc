"""Readers of labelled text."""

from models_tf.data.labels import (
    DEFAULT_SEPARATOR,
    DEFAULT_THRESHOLD,
    ONE_LABEL,
    check_label_count,
    check_separator,
    check_threshold,
    check_threshold_use,
    labels_of,
)
from models_tf.data.table import Row, read_table
from models_tf.data.tagged import TaggedRow, read_tagged

__all__ = [
    "DEFAULT_SEPARATOR",
    "DEFAULT_THRESHOLD",
    "ONE_LABEL",
    "Row",
    "TaggedRow",
    "check_label_count",
    "check_separator",
    "check_threshold",
    "check_threshold_use",
    "labels_of",
    "read_table",
    "read_tagged",
]
