"""Texts without labels: plain text (.txt, one text per line), or the text column of a table or of JSON lines; also .gz.

One text at a time, so memory stays flat. Empty texts are left out: there is nothing to learn from them.
"""

from collections.abc import Iterator
from pathlib import Path

from models_tf.bounded_files import what_is
from models_tf.data.lines import read_lines
from models_tf.data.table import JSON_SUFFIXES, file_suffix, read_table
from models_tf.data.unlabelled import TABLE_SUFFIXES, TEXT_SUFFIXES
from models_tf.errors import InputError


def read_texts(path: Path, text_column: str | None = None) -> Iterator[str]:
    """The texts of a file; a file without any is an InputError."""
    suffix = file_suffix(path)
    if suffix not in (*TEXT_SUFFIXES, *TABLE_SUFFIXES, *JSON_SUFFIXES):
        raise InputError(
            f"--unlabelled must end in .txt, .tsv, .csv or .jsonl, or one of them and .gz. Received: {path}."
        )
    if not path.is_file():
        raise InputError(f"--unlabelled must exist. Received: {path} ({what_is(path)}).")
    texts = _lines(path) if suffix in TEXT_SUFFIXES else _column(path, text_column)
    found = False
    for text in texts:
        if text.strip():
            found = True
            yield text
    if not found:
        raise InputError(f"{path} must have texts. Received: none.")


def _column(path: Path, name: str | None) -> Iterator[str]:
    for row in read_table(path, name, labelled=False):
        yield row.text


def _lines(path: Path) -> Iterator[str]:
    for number, line in enumerate(read_lines(path), start=1):
        if "\0" in line:
            raise InputError(f"{path} must be text. Received: a NUL byte in line {number}.")
        yield line.rstrip("\r\n")
