"""Readers of labelled text."""

from models_tf.data.labels import DEFAULT_SEPARATOR, check_separator, labels_of
from models_tf.data.table import Row, read_table

__all__ = ["DEFAULT_SEPARATOR", "Row", "check_separator", "labels_of", "read_table"]
