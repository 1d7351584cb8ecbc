"""Labelled texts and pairs of texts from TSV, CSV or JSON lines, plain or .gz, one row at a time (memory stays flat).

A TSV or CSV file without a header is read when its columns are given as numbers, from 1.
"""

import csv
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from models_tf import limits
from models_tf.checkpoints.json_text import parse_json
from models_tf.data.held import text_bytes
from models_tf.data.lines import read_lines
from models_tf.errors import InputError

TEXT_COLUMNS = ("text", "sentence", "utterance")
LABEL_COLUMNS = ("label", "intent", "class", "category")
# Two texts per row, under the names that common sentence-pair datasets use.
PAIR_COLUMNS = (
    ("text_a", "text_b"),
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("question", "sentence"),
    ("#1 String", "#2 String"),
)
_DELIMITERS = {".tsv": "\t", ".csv": ","}
_TAGGED = (".conll", ".conllu")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")


class Row(NamedTuple):  # a file has millions, and these are made three times as fast as dataclasses
    text: str
    label: str | tuple[str, ...]  # a tuple for a JSON list
    line: int  # 1 is the first line of the file
    pair: str | None = None  # the second text

    def held_bytes(self) -> int:
        """What it takes in memory."""
        return text_bytes(self.text, self.pair)


def read_table(
    path: Path,
    text_column: str | None = None,
    label_column: str | None = None,
    *,
    labelled: bool = True,
    pair_column: str | None = None,
    guess_pairs: bool = False,
    label_guesses: tuple[str, ...] = LABEL_COLUMNS,
) -> Iterator[Row]:
    """Rows of a file. Columns that are not named are guessed: text/sentence/utterance, label/intent/class/category.

    Without `labelled` only the text is read and the label is empty. A second text is read from `pair_column` or, with
    `guess_pairs` and no `text_column`, from one of `PAIR_COLUMNS`.
    """
    path = Path(path)
    suffix = _suffix(path)
    columns = _Columns(
        text=text_column,
        label=label_column,
        pair=pair_column,
        labelled=labelled,
        guess_pairs=guess_pairs,
        label_guesses=label_guesses,
    )
    if suffix in _DELIMITERS:
        yield from _read_delimited(read_lines(path), path, _DELIMITERS[suffix], columns)
    else:
        yield from _read_json(read_lines(path), path, columns)


def file_suffix(path: Path) -> str:
    """The last suffix in lower case, ignoring .gz."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _suffix(path: Path) -> str:
    suffix = file_suffix(path)
    if suffix not in (*_DELIMITERS, *JSON_SUFFIXES):
        tagged = " Words with tags are for --task token-classification." if suffix in _TAGGED else ""
        raise InputError(
            f"Data file must end in .tsv, .csv or .jsonl, or one of them and .gz. Received: {path}.{tagged}"
        )
    return suffix


def _read_delimited(lines: Iterator[str], path: Path, delimiter: str, columns: "_Columns") -> Iterator[Row]:
    if delimiter == "\t":  # TSV has no quoting: a quote is a quote
        numbered: Iterator[tuple[int, list[str]]] = (
            (number, line.rstrip("\r\n").split("\t")) for number, line in enumerate(lines, start=1)
        )
    else:
        numbered = _records(lines, path)
    try:
        first = next(numbered)
        header = first[1]
        if columns.are_numbers(header):  # no header: the first line is a row
            numbered = itertools.chain([first], numbered)
            header = [str(i) for i in range(1, len(header) + 1)]
        at = columns.find(header, path)
        width, text_at, label_at, pair_at = len(header), at.text, at.label, at.pair
        for number, record in numbered:
            if len(record) != width:
                if not record or record == [""]:
                    continue
                raise InputError(
                    f"{path} line {number} must have {width} columns, as the first row. Received: {len(record)}."
                )
            if width == 1 and not record[0]:
                continue
            label = "" if label_at is None else record[label_at].strip()
            yield Row(record[text_at], label, number, None if pair_at is None else record[pair_at])
    except csv.Error as error:
        raise InputError(f"{path} must be CSV. Received: {error}.") from error


def _records(lines: Iterator[str], path: Path) -> Iterator[tuple[int, list[str]]]:
    """CSV records with the number of their last line. A quoted field may hold lines: all lines of a record count."""
    most = limits.value("line_bytes")
    csv.field_size_limit(most)
    size = 0

    def counted() -> Iterator[str]:
        nonlocal size
        for line in lines:
            size += len(line)
            if size > most:
                raise limits.exceeded("line_bytes", f"{path} line {reader.line_num + 1} must have", "more")
            yield line

    reader = csv.reader(counted(), strict=True)
    for record in reader:
        size = 0
        yield reader.line_num, record


@dataclass(frozen=True, kw_only=True)
class _Places:
    """Indices of the columns."""

    text: int
    label: int | None
    pair: int | None


@dataclass(frozen=True, kw_only=True)
class _Columns:
    """The names asked for; None is guessed."""

    text: str | None
    label: str | None
    pair: str | None
    labelled: bool
    guess_pairs: bool
    label_guesses: tuple[str, ...]

    def are_numbers(self, header: list[str]) -> bool:
        """Whether all requested columns are numbers and none is a name in the header."""
        wanted = [name for name in (self.text, self.label if self.labelled else None, self.pair) if name is not None]
        known = {name.strip() for name in header}
        return bool(wanted) and all(name.isdecimal() and name not in known for name in wanted)

    def find(self, names: list[str], path: Path) -> _Places:
        text, pair = self._texts(names, path)
        if not self.labelled:
            return _Places(text=text, label=None, pair=pair)
        label = _column(names, self.label, self.label_guesses, "--label-column", path)
        if label in (text, pair):
            raise InputError(
                f"{path} must have text and label in two columns: --text-column and --label-column differ. "
                f"Received: {names[label].strip()!r} for both."
            )
        return _Places(text=text, label=label, pair=pair)

    def _texts(self, names: list[str], path: Path) -> tuple[int, int | None]:
        stripped = [name.strip() for name in names]
        if self.guess_pairs and self.text is None and self.pair is None and "text" not in stripped:
            for one, two in PAIR_COLUMNS:
                if one in stripped and two in stripped:
                    return stripped.index(one), stripped.index(two)
        if self.pair is None:
            return _column(names, self.text, TEXT_COLUMNS, "--text-column", path), None
        pair = _column(names, self.pair, (), "--text-pair-column", path)
        partners = tuple(one for one, two in PAIR_COLUMNS if two == self.pair)
        text = _column(names, self.text, (*partners, *TEXT_COLUMNS), "--text-column", path)
        if text == pair:
            raise InputError(
                f"{path} must have its two texts in two columns: --text-column and --text-pair-column differ. "
                f"Received: {stripped[text]!r} for both."
            )
        return text, pair


def _column(names: list[str], wanted: str | None, guesses: tuple[str, ...], flag: str, path: Path) -> int:
    stripped = [name.strip() for name in names]
    for name in (wanted,) if wanted is not None else guesses:
        if name in stripped:
            return stripped.index(name)
    expected = f"column {wanted!r}" if wanted is not None else f"a column named {' or '.join(guesses)}"
    raise InputError(
        f"{path} must have {expected} in its header. Received: {', '.join(stripped)}. Choose one with {flag}."
    )


def _read_json(lines: Iterator[str], path: Path, columns: _Columns) -> Iterator[Row]:
    keys: tuple[str, str | None, str | None] | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        record = json_object(line, path, number)
        if keys is None:
            names = list(record)
            at = columns.find(names, path)
            keys = (
                names[at.text],
                None if at.label is None else names[at.label],
                None if at.pair is None else names[at.pair],
            )
        text_key, label_key, pair_key = keys
        for key in keys:
            if key is not None and key not in record:
                raise InputError(f"{path} line {number} must have {key!r}. Received: {', '.join(record)}.")
        for key in (text_key, pair_key):
            if key is not None and not isinstance(record[key], str):
                raise InputError(f"{path} line {number}: {key!r} must be text. Received: {type(record[key]).__name__}.")
        label = "" if label_key is None else record[label_key]
        pair = None if pair_key is None else record[pair_key]
        yield Row(record[text_key], _json_label(label, f"{path} line {number}: {label_key!r}"), number, pair)


def _json_label(value: Any, where: str) -> str | tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    for item in values:
        if not isinstance(item, (str, int, float)):
            received = "null" if item is None else type(item).__name__
            raise InputError(f"{where} must be text, a number or a list of them. Received: {received}.")
    return tuple(map(str, value)) if isinstance(value, list) else str(value)


def json_object(line: str, path: Path, number: int) -> dict[str, Any]:
    record = parse_json(line, f"{path} line {number} must be one JSON object.")
    if not isinstance(record, dict):
        raise InputError(f"{path} line {number} must be a JSON object. Received: {type(record).__name__}.")
    return record
