"""Readers of labelled text."""

from models_tf.data.table import Row, read_table

__all__ = ["Row", "read_table"]
