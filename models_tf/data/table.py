"""Labelled text from TSV, CSV or JSON lines, plain or .gz, a row at a time (memory stays flat)."""

import csv
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from models_tf.errors import InputError
from models_tf.json_text import parse_json

TEXT_COLUMNS = ("text", "sentence", "utterance")
LABEL_COLUMNS = ("label", "intent", "class", "category")
_DELIMITERS = {".tsv": "\t", ".csv": ","}
_JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
# A field of 256 MB: far above any text, far below memory.
csv.field_size_limit(1 << 28)


@dataclass(frozen=True, slots=True)
class Row:
    text: str
    label: str | tuple[str, ...]  # a tuple: a JSON list
    line: int  # 1 is the first line of the file


def read_table(
    path: Path, text_column: str | None = None, label_column: str | None = None, *, labelled: bool = True
) -> Iterator[Row]:
    """Rows of a file. Columns not named are guessed: text/sentence/utterance, label/intent/class/category.

    With `labelled` false only the text is read, and the label is empty.
    """
    path = Path(path)
    suffix = _suffix(path)
    if not path.is_file():
        received = "a folder" if path.is_dir() else "no such file"
        raise InputError(f"Data file must exist. Received: {path} ({received}).")
    try:
        with _open(path) as stream:
            lines = _decoded_lines(stream, path)
            columns = _Columns(text=text_column, label=label_column, labelled=labelled)
            if suffix in _DELIMITERS:
                yield from _read_delimited(lines, path, _DELIMITERS[suffix], columns)
            else:
                yield from _read_json(lines, path, columns)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} must be a whole gzip file. Received: {error}.") from error


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in (*_DELIMITERS, *_JSON_SUFFIXES):
        raise InputError(f"Data file must end in .tsv, .csv or .jsonl, or one of them and .gz. Received: {path}.")
    return suffix


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _decoded_lines(stream: IO[bytes], path: Path) -> Iterator[str]:
    number = 0
    for number, raw in enumerate(stream, start=1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path} must be UTF-8. Received: byte 0x{raw[error.start]:02x} in row {number}, column {error.start + 1}."
            ) from error
        yield line
    if number == 0:
        raise InputError(f"{path} must have a header and rows. Received: an empty file.")


def _read_delimited(lines: Iterator[str], path: Path, delimiter: str, columns: "_Columns") -> Iterator[Row]:
    if delimiter == "\t":  # TSV has no quoting: a quote is a quote
        records: Any = (line.rstrip("\r\n").split("\t") for line in lines)
        number = iter(range(1, 1 << 62))
        numbered = ((next(number), record) for record in records)
    else:
        reader = csv.reader(lines, strict=True)
        numbered = ((reader.line_num, record) for record in reader)
    try:
        _, header = next(numbered)
        text_at, label_at = columns.find(header, path)
        for number_of_line, record in numbered:
            if not record or record == [""]:
                continue
            if len(record) != len(header):
                raise InputError(
                    f"{path} row {number_of_line} must have {len(header)} columns, as the header. Received: {len(record)}."
                )
            label = "" if label_at is None else record[label_at].strip()
            yield Row(record[text_at], label, number_of_line)
    except csv.Error as error:
        raise InputError(f"{path} must be CSV. Received: {error}.") from error


@dataclass(frozen=True, kw_only=True)
class _Columns:
    """The names asked for; None is guessed."""

    text: str | None
    label: str | None
    labelled: bool

    def find(self, names: list[str], path: Path) -> tuple[int, int | None]:
        text = _column(names, self.text, TEXT_COLUMNS, "--text-column", path)
        if not self.labelled:
            return text, None
        label = _column(names, self.label, LABEL_COLUMNS, "--label-column", path)
        if text == label:
            raise InputError(
                f"{path} must have text and label in two columns: --text-column and --label-column differ. "
                f"Received: {names[text].strip()!r} for both."
            )
        return text, label


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
    text_key: str | None = None
    label_key: str | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        record = _json_object(line, path, number)
        if text_key is None:
            keys = list(record)
            text_at, label_at = columns.find(keys, path)
            text_key, label_key = keys[text_at], None if label_at is None else keys[label_at]
        for key in (text_key, label_key):
            if key is not None and key not in record:
                raise InputError(f"{path} row {number} must have {key!r}. Received: {', '.join(record)}.")
        text, label = record[text_key], "" if label_key is None else record[label_key]
        if not isinstance(text, str):
            raise InputError(f"{path} row {number}: {text_key!r} must be text. Received: {type(text).__name__}.")
        yield Row(text, _json_label(label, f"{path} row {number}: {label_key!r}"), number)


def _json_label(value: Any, where: str) -> str | tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    for item in values:
        if not isinstance(item, (str, int, float)):
            received = "null" if item is None else type(item).__name__
            raise InputError(f"{where} must be text, a number or a list of them. Received: {received}.")
    return tuple(map(str, value)) if isinstance(value, list) else str(value)


def _json_object(line: str, path: Path, number: int) -> dict[str, Any]:
    record = parse_json(line, f"{path} row {number} must be one JSON object.")
    if not isinstance(record, dict):
        raise InputError(f"{path} row {number} must be a JSON object. Received: {type(record).__name__}.")
    return record
