"""TFRecord files of tf.train.Example, plain or compressed with ZLIB or GZIP, without TensorFlow.

Checksums of records are not checked: compression has its own. Leaves out SequenceExample and float features.
"""

import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np

from models_tf import limits
from models_tf.bounded_files import GZIP, PLAIN, ZLIB, pieces, what_is
from models_tf.errors import InputError

# int64 features as arrays, bytes features as lists.
Example: TypeAlias = dict[str, "np.ndarray | list[bytes]"]

_VARINT, _BYTES = 0, 2
_LENGTH = struct.Struct("<Q")


def read_examples(path: Path, names: Collection[str] | None = None) -> Iterator[Example]:
    """The examples of a file, in its order; with `names` only these features."""
    for number, record in enumerate(read_records(path), start=1):
        try:
            yield parse_example(record, names)
        except (IndexError, ValueError) as error:
            raise InputError(f"{path} record {number} must be a tf.train.Example. Received: {error}.") from error


def read_records(path: Path) -> Iterator[memoryview]:
    """The raw records of a file, one at a time; none has more than the limit `line_bytes`."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"Data file must exist. Received: {path} ({what_is(path)}).")
    most = limits.value("line_bytes")
    packing = _packing(path)
    content = _Content(pieces(path, packing, kind="TFRecord"))
    number = 0
    while content.has_more():
        number += 1
        # uint64 length, uint32 checksum of it, the record, uint32 checksum of it
        head = content.take(12)
        size = _LENGTH.unpack_from(head)[0] if len(head) == 12 else 0
        if size > most and (packing != PLAIN or size <= path.stat().st_size):
            raise limits.exceeded("line_bytes", f"{path} record {number} must have", f"{size:,}")
        record = content.take(min(size, most) + 4)
        if len(head) < 12 or len(record) < size + 4:
            raise InputError(f"{path} must be a whole TFRecord file. Received: it ends within record {number}.")
        yield memoryview(record)[:size]
    if not number:
        raise InputError(f"{path} must have records. Received: an empty file.")


class _Content:
    """Bytes in pieces, taken in other pieces."""

    def __init__(self, found: Iterator[bytes]) -> None:
        self._pieces, self._rest, self._at = found, b"", 0

    def has_more(self) -> bool:
        if self._at == len(self._rest):
            self._rest, self._at = next(self._pieces, b""), 0
        return bool(self._rest)

    def take(self, size: int) -> bytes:
        """So many bytes, fewer at the end."""
        parts = []
        while size and self.has_more():
            part = self._rest[self._at : self._at + size]
            self._at += len(part)
            size -= len(part)
            parts.append(part)
        return b"".join(parts)


def _packing(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(8)
    if start[:2] == b"\x1f\x8b":
        return GZIP
    # A zlib header: method 8, and both bytes together a multiple of 31. A plain file begins with a small length.
    zipped = start[:1] and start[0] & 15 == 8 and int.from_bytes(start[:2], "big") % 31 == 0 and start[2:8] != bytes(6)
    return ZLIB if zipped else PLAIN


def parse_example(record: bytes | memoryview, names: Collection[str] | None = None) -> Example:
    """Features by name: Example.features(1).feature(1) is a map of key(1) and Feature(2)."""
    example: Example = {}
    for features in _fields(memoryview(record), 1):
        for entry in _fields(features, 1):
            key = b"".join(_fields(entry, 1)).decode("utf-8")
            if names is not None and key not in names:
                continue
            for feature in _fields(entry, 2):
                for values in _fields(feature, 1):  # BytesList
                    example[key] = _strings(bytes(values))
                for values in _fields(feature, 3):  # Int64List
                    example[key] = _integers(values)
    return example


def _fields(message: memoryview, wanted: int) -> Iterator[memoryview]:
    """Contents of the length-delimited fields of one number."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        if tag & 7 == _VARINT:
            _, at = _varint(message, at)
            continue
        if tag & 7 != _BYTES:
            raise ValueError(f"a field of wire type {tag & 7}")
        size, at = _varint(message, at)
        if at + size > len(message):
            raise ValueError("a field that is longer than its record")
        if tag >> 3 == wanted:
            yield message[at : at + size]
        at += size


def _strings(message: bytes) -> list[bytes]:
    """BytesList. A file has millions of short strings: field 1 and a length below 128 are read without detours."""
    found = []
    at = 0
    while at + 1 < len(message) and message[at] == 10 and message[at + 1] < 128:
        end = at + 2 + message[at + 1]
        found.append(message[at + 2 : end])
        at = end
    if at > len(message):
        raise ValueError("a field that is longer than its record")
    return found + [bytes(value) for value in _fields(memoryview(message)[at:], 1)]


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _integers(message: memoryview) -> np.ndarray:
    """Int64List: packed, as every writer since proto3 does it; single values are read too."""
    parts = [_unpack(packed) for packed in _fields(message, 1)]
    if not parts and len(message):
        at, values = 0, []
        while at < len(message):
            _, at = _varint(message, at)
            value, at = _varint(message, at)
            values.append(value)
        return np.array(values, np.uint64).astype(np.int64)
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _unpack(packed: memoryview) -> np.ndarray:
    data = np.frombuffer(packed, np.uint8)
    last = np.flatnonzero(data < 128)
    if not len(data) or last[-1] != len(data) - 1:
        raise ValueError("a number that is cut off")
    first = np.concatenate([[0], last[:-1] + 1])
    place = np.arange(len(data)) - np.repeat(first, last - first + 1)  # byte within its number
    if place.max() > 9:
        raise ValueError("a number of more than 64 bits")
    parts = (data & 127).astype(np.uint64) << (7 * place).astype(np.uint64)
    return np.add.reduceat(parts, first).astype(np.int64)
