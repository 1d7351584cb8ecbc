"""Sentences as words, without looking at labels: plain text, CoNLL, CoNLL-U, JSON lines and tables, plain or .gz.

Plain text (.txt, one sentence per line), a table's text and a JSON `text` are split at white space, and punctuation is
split off as BERT's tokenizer does, so that they look like the separated words that a tagger was trained on. Words of
CoNLL, CoNLL-U and JSON lists stay as they are. Empty lines are left out.
"""

from collections.abc import Iterator
from pathlib import Path

from models_tf.data.lines import read_lines
from models_tf.data.table import JSON_SUFFIXES, TEXT_COLUMNS, file_suffix, json_object, read_table
from models_tf.data.tagged import WORD_KEYS, read_tagged
from models_tf.data.text import clean_text
from models_tf.errors import InputError

TEXT_SUFFIXES = (".txt",)
TABLE_SUFFIXES = (".tsv", ".csv")


def read_sentences(path: Path) -> Iterator[list[str]]:
    """The words of each sentence; a file without any is an InputError."""
    path = Path(path)
    found = False
    for words in _sentences(path):
        if words:
            found = True
            yield words
    if not found:
        raise InputError(f"{path} must have sentences. Received: none.")


def split_text(text: str) -> list[str]:
    """Words and signs of a text, as written."""
    from tokenizers.pre_tokenizers import BertPreTokenizer

    return [word for word, _ in BertPreTokenizer().pre_tokenize_str(clean_text(text))]


def _sentences(path: Path) -> Iterator[list[str]]:
    suffix = file_suffix(path)
    if suffix in TEXT_SUFFIXES:
        for line in read_lines(path):
            yield split_text(line)
    elif suffix in TABLE_SUFFIXES:
        for row in read_table(path, labelled=False):
            yield split_text(row.text)
    elif suffix in JSON_SUFFIXES:
        for number, line in enumerate(read_lines(path), start=1):
            if line.strip():
                yield _json_words(line, path, number)
    else:
        for tagged in read_tagged(path, labelled=False):
            yield list(tagged.words)


def _json_words(line: str, path: Path, number: int) -> list[str]:
    record = json_object(line, path, number)
    for key in (*WORD_KEYS, *TEXT_COLUMNS):
        value = record.get(key)
        if isinstance(value, str) and key in TEXT_COLUMNS:
            return split_text(value)
        if isinstance(value, list) and key in WORD_KEYS:
            if not all(isinstance(word, str) and word.strip() for word in value):
                raise InputError(f"{path} line {number}: {key!r} must hold words that are not empty.")
            return value
        if value is not None:
            wanted = "a list of words" if key in WORD_KEYS else "text"
            raise InputError(f"{path} line {number}: {key!r} must be {wanted}. Received: {type(value).__name__}.")
    raise InputError(
        f"{path} line {number} must have {' or '.join((*WORD_KEYS, *TEXT_COLUMNS))}. Received: {', '.join(record)}."
    )
