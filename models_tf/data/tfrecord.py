"""TFRecord files of tf.train.Example, plain or compressed with ZLIB or GZIP, without TensorFlow.

Checksums of records are not checked: compression has its own. Leaves out SequenceExample and float features.
"""

import struct
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np

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
    """The raw records of a file."""
    data = memoryview(_decompressed(path))
    at, number = 0, 0
    while at < len(data):
        number += 1
        # uint64 length, uint32 checksum of it, the record, uint32 checksum of it
        size = _LENGTH.unpack_from(data, at)[0] if at + 12 <= len(data) else None
        if size is None or at + 16 + size > len(data):
            raise InputError(f"{path} must be a whole TFRecord file. Received: it ends within record {number}.")
        yield data[at + 12 : at + 12 + size]
        at += 16 + size


def _decompressed(path: Path) -> bytes:
    path = Path(path)
    if not path.is_file():
        raise InputError(f"Data file must exist. Received: {path} ({'a folder' if path.is_dir() else 'no such file'}).")
    data = path.read_bytes()
    if not data:
        raise InputError(f"{path} must have records. Received: an empty file.")
    gzipped = data[:2] == b"\x1f\x8b"
    # A zlib header: method 8, and both bytes together a multiple of 31. A plain file begins with a small length.
    zipped = data[0] & 15 == 8 and int.from_bytes(data[:2], "big") % 31 == 0 and data[2:8] != bytes(6)
    if not gzipped and not zipped:
        return data
    try:
        stream = zlib.decompressobj(wbits=31 if gzipped else 15)
        whole = stream.decompress(data) + stream.flush()
    except zlib.error as error:
        raise InputError(f"{path} must be a whole TFRecord file. Received: {error}.") from error
    if not stream.eof:
        raise InputError(f"{path} must be a whole TFRecord file. Received: a compressed stream that is cut off.")
    return whole


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
