"""Which tokens the texts in some files need: what `--prune-vocab` keeps. Files are read as the task reads them.

Tables (.tsv .csv .jsonl), tagged words (.conll .conllu), SQuAD for question answering, and plain text, one per line;
also as .gz. Texts count in full, however long. Tokens that always stay are in `models_tf/tokenizers/vocabulary.py`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from models_tf.bounded_files import what_is
from models_tf.data import Row, TaggedRow
from models_tf.data.lines import read_lines
from models_tf.data.table import JSON_SUFFIXES, TEXT_COLUMNS, file_suffix, read_table
from models_tf.data.tagged import read_tagged
from models_tf.data.text import clean_text
from models_tf.data.unlabelled import TABLE_SUFFIXES, TEXT_SUFFIXES, read_sentences
from models_tf.encoder.heads import QUESTION_ANSWERING, TOKEN_CLASSIFICATION
from models_tf.errors import InputError
from models_tf.spec import IDS
from models_tf.tasks import read_rows
from models_tf.tasks.rows import Columns
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.tokenizers.vocabulary import Vocabulary

_CHUNK = 512
_CHUNK_SIZE = 1 << 22  # letters of texts, words of sentences
# Maximum tokens of a sentence given as words: beyond any model's positions.
_LONGEST = 2048
Item = TypeVar("Item", bound=Sized)


def used_tokens(
    tokenizer: Tokenizer,
    paths: Sequence[Path],
    *,
    head: str,
    columns: Columns | None = None,
    parsed: Mapping[Path, Any] | None = None,
    flag: str = "--vocab-data",
) -> set[int]:
    """The ids of all tokens in the files' texts, as a model with this kind of head reads them.

    `parsed` holds the rows of files that were already read.
    """
    vocabulary = Vocabulary.of(tokenizer)
    found: set[int] = set()
    for path in map(Path, paths):
        if not path.is_file() and not (path.is_dir() and head == QUESTION_ANSWERING):
            raise InputError(f"{flag} must be a file. Received: {path} ({what_is(path)}).")
        before, suffix = len(found), file_suffix(path)
        if parsed and path in parsed:
            found |= _of_rows(tokenizer, vocabulary, parsed[path])
        elif head == QUESTION_ANSWERING and suffix not in (*TEXT_SUFFIXES, *TABLE_SUFFIXES):
            rows = read_rows(QUESTION_ANSWERING, path, tokenizer=tokenizer, max_len=384, labelled=False)
            found |= set(map(int, np.unique(rows.inputs[IDS])))
        elif head == TOKEN_CLASSIFICATION or suffix not in (*TEXT_SUFFIXES, *TABLE_SUFFIXES, *JSON_SUFFIXES):
            found |= _of_words(tokenizer, vocabulary, _words(path, columns or Columns()))
        else:
            found |= _of_texts(tokenizer, vocabulary, _texts(path, columns or Columns()))
        if not found and not before:
            raise InputError(f"{flag} must have texts. Received: {path} without.")
    return found


def _of_rows(tokenizer: Tokenizer, vocabulary: Vocabulary, rows: Sequence[Any]) -> set[int]:
    """Tokens of table rows, tagged sentences or lists of words."""
    if isinstance(rows[0], Row):
        texts = (text for row in rows for text in (row.text, row.pair) if text is not None)
        return _of_texts(tokenizer, vocabulary, texts)
    return _of_words(tokenizer, vocabulary, (row.words if isinstance(row, TaggedRow) else row for row in rows))


def _texts(path: Path, columns: Columns) -> Iterator[str]:
    if file_suffix(path) in TEXT_SUFFIXES:
        yield from (line.strip() for line in read_lines(path))
        return
    for row in read_table(path, columns.text, labelled=False, pair_column=columns.pair, guess_pairs=True):
        yield row.text
        if row.pair is not None:
            yield row.pair


def _words(path: Path, columns: Columns) -> Iterator[Sequence[str]]:
    suffix = file_suffix(path)
    named = columns.text is not None and suffix not in TEXT_SUFFIXES
    if named or (suffix in TABLE_SUFFIXES and not _has_header(path)):
        yield from (row.words for row in read_tagged(path, columns.text, labelled=False))
    else:
        yield from read_sentences(path)


def _has_header(path: Path) -> bool:
    """Whether a .tsv or .csv is a table of texts; without a header it has one word per line."""
    first = next(iter(read_lines(path)))
    return any(name.strip() in TEXT_COLUMNS for name in first.replace(",", "\t").split("\t"))


def _of_texts(tokenizer: Tokenizer, vocabulary: Vocabulary, texts: Iterable[str]) -> set[int]:
    found: set[int] = set()
    for chunk in _chunks(clean_text(text) for text in texts):
        for text, pieces in zip(chunk, tokenizer.pieces(chunk), strict=True):
            found.update(pieces.ids)
            if tokenizer.unk_id in pieces.ids:
                found |= vocabulary.unknown_words(tokenizer.basic_tokens(text))
    return found


def _of_words(tokenizer: Tokenizer, vocabulary: Vocabulary, sentences: Iterable[Sequence[str]]) -> set[int]:
    found: set[int] = set()
    for chunk in _chunks([clean_text(word) for word in words] for words in sentences):
        ids = tokenizer.encode_words(chunk, max_len=_LONGEST).inputs[IDS]
        found |= set(map(int, np.unique(ids)))
        for row in np.flatnonzero((ids == tokenizer.unk_id).any(axis=1)):
            for word in chunk[row]:
                found |= vocabulary.unknown_words(tokenizer.basic_tokens(word))
    return found


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Some texts or sentences at a time, fewer if they are long."""
    chunk: list[Item] = []
    size = 0
    for item in items:
        chunk.append(item)
        size += len(item)
        if len(chunk) == _CHUNK or size > _CHUNK_SIZE:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
