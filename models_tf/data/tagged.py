"""Words with a tag each, from CoNLL columns, CoNLL-U or JSON lines ({"tokens": [...], "tags": [...]}), plain or .gz.

CoNLL: columns between tabs, or spaces where the first line has no tab; the word is the first and the tag the last; a
line of white space only ends a sentence; -DOCSTART- lines are left out. CoNLL-U: FORM and UPOS, syntactic words only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models_tf import limits
from models_tf.data.held import text_bytes
from models_tf.data.lines import read_lines
from models_tf.data.table import JSON_SUFFIXES, LABEL_COLUMNS, TEXT_COLUMNS, file_suffix, json_object
from models_tf.errors import InputError

WORD_KEYS = ("tokens", "words")
_TAG_KEYS = ("tags", "ner_tags", "labels", "pos_tags")
_CONLLU_COLUMNS = 10
_WORD_BYTES = 2  # what separates a word from its tag and from the next word
# Of the number of a column; Python itself refuses numbers of some thousands.
_MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class TaggedRow:
    """One sentence. Without tags where the file was read for its words only."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    lines: tuple[int, ...]  # of each word; 1 is the first line of the file

    def held_bytes(self) -> int:
        """What it takes in memory."""
        return text_bytes(*self.words, *self.tags) + 32 * len(self.lines)


def read_tagged(
    path: Path, word_column: str | None = None, tag_column: str | None = None, *, labelled: bool = True
) -> Iterator[TaggedRow]:
    """Sentences of a file; columns are numbers from 1 for CoNLL and names for JSON lines."""
    path = Path(path)
    suffix = file_suffix(path)
    if suffix in JSON_SUFFIXES:
        yield from _read_json(path, word_column, tag_column, labelled)
        return
    conllu = suffix == ".conllu"
    word_at = _number(word_column, "--text-column", 1 if conllu else 0)
    tag_at = _number(tag_column, "--label-column", 3 if conllu else -1)
    words: list[str] = []
    tags: list[str] = []
    lines: list[int] = []
    size, most = 0, limits.value("line_bytes")
    for number, fields in _fields(path, conllu=conllu):
        if number == 1 and labelled:
            _refuse_table(fields, word_at, tag_at, path)
        if fields and fields[0] != "-DOCSTART-":
            _check(fields, word_at, tag_at if labelled else None, f"{path} line {number}")
            words.append(fields[word_at])
            tags.append(fields[tag_at])
            lines.append(number)
            size += len(fields[word_at]) + len(fields[tag_at]) + _WORD_BYTES
            if size > most:
                raise limits.exceeded("line_bytes", f"{path} line {lines[0]}: a sentence must have", "more")
        elif words:
            yield TaggedRow(tuple(words), tuple(tags) if labelled else (), tuple(lines))
            words, tags, lines, size = [], [], [], 0
    if words:
        yield TaggedRow(tuple(words), tuple(tags) if labelled else (), tuple(lines))


def _fields(path: Path, *, conllu: bool) -> Iterator[tuple[int, list[str]]]:
    """Line number and columns; none for a line that ends a sentence."""
    delimiter: str | None = "\t"
    width = _CONLLU_COLUMNS if conllu else 0
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            yield number, []
            continue
        if conllu and line.startswith("#"):  # a comment there; elsewhere a word
            continue
        if not width:
            delimiter = "\t" if "\t" in line else None
        fields = [field.strip() for field in line.rstrip("\r\n").split(delimiter)]
        width = width or len(fields)
        if len(fields) != width:
            raise InputError(
                f"{path} line {number} must have {width} columns, as the lines above. Received: {len(fields)}."
            )
        if conllu and not fields[0].isdecimal():  # 1-2 is a contraction of words that follow, 1.1 an omitted word
            continue
        yield number, fields


def _refuse_table(fields: list[str], word_at: int, tag_at: int, path: Path) -> None:
    """A table of texts and labels would be one sentence whose words are the texts."""
    if len(fields) > max(word_at, tag_at) and fields[word_at] in TEXT_COLUMNS and fields[tag_at] in LABEL_COLUMNS:
        raise InputError(
            f"{path} must have a word and its tag in each line, and an empty line between sentences. "
            f"Received: a table with the header {', '.join(fields)}."
        )


def _check(fields: list[str], word_at: int, tag_at: int | None, where: str) -> None:
    for at in (word_at,) if tag_at is None else (word_at, tag_at):
        if at >= len(fields):
            raise InputError(f"{where} must have column {at + 1}. Received: {len(fields)} column(s).")
        if not fields[at]:
            raise InputError(f"{where} must have a word and a tag that are not empty. Received: {fields}.")
    if tag_at is not None and tag_at % len(fields) == word_at:
        raise InputError(f"{where} must have a word and a tag in two columns. Received: {len(fields)} column(s).")


def _number(column: str | None, flag: str, default: int) -> int:
    if column is None:
        return default
    if not column.isdecimal() or len(column) > _MOST_DIGITS or int(column) < 1:
        raise InputError(f"{flag} must be the number of a column, from 1, for CoNLL files. Received: {column[:100]!r}.")
    return int(column) - 1


def _read_json(path: Path, word_key: str | None, tag_key: str | None, labelled: bool) -> Iterator[TaggedRow]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        record = json_object(line, path, number)
        where = f"{path} line {number}"
        words = _list(record, (word_key,) if word_key else WORD_KEYS, "--text-column", where)
        if not words or not all(isinstance(word, str) and word.strip() for word in words):
            raise InputError(f"{where} must have words that are not empty. Received: {_short(words)}.")
        if not labelled:
            yield TaggedRow(tuple(words), (), (number,) * len(words))
            continue
        tags = _list(record, (tag_key,) if tag_key else _TAG_KEYS, "--label-column", where)
        if len(tags) != len(words):
            raise InputError(f"{where} must have a tag for each of its {len(words)} words. Received: {len(tags)}.")
        if not all(isinstance(tag, str | int) and not isinstance(tag, bool) for tag in tags):
            raise InputError(f"{where} must have tags that are text or whole numbers. Received: {_short(tags)}.")
        yield TaggedRow(tuple(words), tuple(str(tag).strip() for tag in tags), (number,) * len(words))


def _list(record: dict[str, Any], keys: tuple[str, ...], flag: str, where: str) -> list[Any]:
    for key in keys:
        if key in record:
            if not isinstance(record[key], list):
                raise InputError(f"{where}: {key!r} must be a list. Received: {type(record[key]).__name__}.")
            return record[key]
    raise InputError(f"{where} must have {' or '.join(keys)}. Received: {', '.join(record)}. Choose one with {flag}.")


def _short(values: list[Any]) -> str:
    text = str(values)
    return text if len(text) <= 80 else f"{text[:80]}..."
