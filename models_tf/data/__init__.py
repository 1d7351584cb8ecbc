"""Readers of labelled text."""

from models_tf.data.labels import DEFAULT_SEPARATOR, check_separator, labels_of
from models_tf.data.table import Row, read_table
from models_tf.data.tagged import TaggedRow, read_tagged

__all__ = ["DEFAULT_SEPARATOR", "Row", "TaggedRow", "check_separator", "labels_of", "read_table", "read_tagged"]
