"""TFLite metadata (file identifier M001): a description of a model for libraries that call it, written and read back.

`SCHEMA` names the fields of each table in the order of the public metadata_schema.fbs, as far as text classifiers use
it. Values are dictionaries by field; a union is a pair of the table's name and its value. The associated files, a
vocabulary say, are a zip archive behind the model, stored without compression. Knows nothing of what the fields mean.
"""

import io
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import flatbuffers
import numpy as np

from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import add_buffer, schema, text

IDENTIFIER = b"M001"
# What the model calls the buffer that holds the metadata.
BUFFER_NAME = "TFLITE_METADATA"
ROOT = "ModelMetadata"
_TEXT, _BYTE, _TEXTS, _FLOATS = "text", "byte", "texts", "floats"
# The oldest date that a zip archive can say: the same files make the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
_MOST_TABLES, _DEEPEST = 10_000, 16


@dataclass(frozen=True)
class Union:
    """Tables that a field may hold, by number from 1. It takes two slots: the number and the table."""

    tables: tuple[str, ...]


@dataclass(frozen=True)
class Skipped:
    """A field that is neither written nor read; it has its slots all the same."""

    slots: int = 1


Kind = str | list[str] | Union | Skipped
SCHEMA: dict[str, dict[str, Kind]] = {
    "ModelMetadata": {
        "name": _TEXT,
        "description": _TEXT,
        "version": _TEXT,
        "subgraph_metadata": ["SubGraphMetadata"],
        "author": _TEXT,
        "license": _TEXT,
        "associated_files": ["AssociatedFile"],
        "min_parser_version": _TEXT,
    },
    "SubGraphMetadata": {
        "name": _TEXT,
        "description": _TEXT,
        "input_tensor_metadata": ["TensorMetadata"],
        "output_tensor_metadata": ["TensorMetadata"],
        "associated_files": ["AssociatedFile"],
        "input_process_units": ["ProcessUnit"],
        "output_process_units": ["ProcessUnit"],
    },
    "TensorMetadata": {
        "name": _TEXT,
        "description": _TEXT,
        "dimension_names": _TEXTS,
        "content": "Content",
        "process_units": ["ProcessUnit"],
        "stats": "Stats",
        "associated_files": ["AssociatedFile"],
    },
    "Content": {
        "content_properties": Union(
            ("FeatureProperties", "ImageProperties", "BoundingBoxProperties", "AudioProperties")
        ),
        "range": Skipped(),
    },
    "ProcessUnit": {
        "options": Union(
            (
                "NormalizationOptions",
                "ScoreCalibrationOptions",
                "ScoreThresholdingOptions",
                "BertTokenizerOptions",
                "SentencePieceTokenizerOptions",
                "RegexTokenizerOptions",
            )
        ),
    },
    "BertTokenizerOptions": {"vocab_file": ["AssociatedFile"]},
    "SentencePieceTokenizerOptions": {"sentencePiece_model": ["AssociatedFile"], "vocab_file": ["AssociatedFile"]},
    "RegexTokenizerOptions": {"delim_regex_pattern": _TEXT, "vocab_file": ["AssociatedFile"]},
    "Stats": {"max": _FLOATS, "min": _FLOATS},
    "AssociatedFile": {"name": _TEXT, "description": _TEXT, "type": _BYTE, "locale": _TEXT, "version": _TEXT},
}
# Kinds of associated files.
AXIS_LABELS, VOCABULARY = 2, 5


def packed(model_file: bytes, metadata: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """A .tflite file with metadata in it and the associated files behind it."""
    model = read_model(model_file)
    entry = schema.MetadataT()
    entry.name, entry.buffer = BUFFER_NAME, add_buffer(model, np.frombuffer(written(metadata), np.uint8))
    model.metadata = [*(model.metadata or ()), entry]
    stream = io.BytesIO()
    stream.write(write_model(model))
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content)
    return stream.getvalue()


def metadata_of(model: Any) -> dict[str, Any] | None:
    """What a parsed file says of itself; None if it has no such metadata. ValueError if they are broken."""
    for entry in model.metadata or ():
        if text(entry.name) == BUFFER_NAME and 0 <= entry.buffer < len(model.buffers):
            data = model.buffers[entry.buffer].data
            return None if data is None else parsed(np.asarray(data, np.uint8).tobytes())
    return None


@dataclass(frozen=True, kw_only=True)
class Archive:
    """The files behind a model: where they start, and their sizes by name."""

    start: int
    sizes: dict[str, int]


def archive_of(content: bytes) -> Archive | None:
    """None if there is no archive that can be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return None
    start = min((info.header_offset for info in found), default=len(content))
    return Archive(start=start, sizes={info.filename: info.file_size for info in found})


def written(metadata: Mapping[str, Any]) -> bytes:
    """The flatbuffer of a `ModelMetadata`."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(_write(builder, ROOT, metadata), file_identifier=IDENTIFIER)
    return bytes(builder.Output())


def _write(builder: Any, table: str, values: Mapping[str, Any]) -> int:
    """The offset of a table. What it points to is written first."""
    fields = SCHEMA.get(table, {})
    unknown = set(values) - set(fields)
    if unknown:
        raise ValueError(f"{table} has the fields {', '.join(fields) or 'none'}. Received: {', '.join(unknown)}.")
    slots = list[tuple[Callable[..., None], int, int]]()
    slot = 0
    for name, kind in fields.items():
        value = values.get(name)
        if isinstance(kind, Union):
            if value is not None:
                slots.append((builder.PrependUint8Slot, slot, kind.tables.index(value[0]) + 1))
                slots.append((builder.PrependUOffsetTRelativeSlot, slot + 1, _write(builder, *value)))
        elif value is not None and kind == _BYTE:
            slots.append((builder.PrependInt8Slot, slot, value))
        elif value is not None:
            slots.append((builder.PrependUOffsetTRelativeSlot, slot, _reference(builder, kind, value)))
        slot += _slots(kind)
    builder.StartObject(slot)
    for write, place, value in slots:
        write(place, value, 0)
    return int(builder.EndObject())


def _reference(builder: Any, kind: Kind, value: Any) -> int:
    if kind == _TEXT:
        return int(builder.CreateString(value))
    if kind == _FLOATS:
        return int(builder.CreateNumpyVector(np.asarray(value, np.float32)))
    if isinstance(kind, str) and kind != _TEXTS:
        return _write(builder, kind, value)
    table = kind[0] if isinstance(kind, list) else ""
    made = [_write(builder, table, one) if table else builder.CreateString(one) for one in value]
    builder.StartVector(4, len(made), 4)
    for offset in reversed(made):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _slots(kind: Kind) -> int:
    return kind.slots if isinstance(kind, Skipped) else 2 if isinstance(kind, Union) else 1


def parsed(data: bytes) -> dict[str, Any]:
    """The inverse of `written`, for metadata of any writer; fields that are not in `SCHEMA` are left out."""
    if data[4:8] != IDENTIFIER:
        raise ValueError(f"metadata with {data[4:8]!r} at byte 4, not {IDENTIFIER!r}")
    return _Reader(data).table(ROOT, _number(data, 0, "<I"), 0)


class _Reader:
    """Every offset is checked: Python's flatbuffers runtime would follow one anywhere."""

    def __init__(self, data: bytes) -> None:
        self._data, self._tables = data, 0

    def table(self, name: str, place: int, depth: int) -> dict[str, Any]:
        self._tables += 1
        if self._tables > _MOST_TABLES or depth > _DEEPEST:
            raise ValueError("metadata with too many tables")
        header = place - self._at(place, "<i")
        size, found, slot = self._at(header, "<H"), dict[str, Any](), 0
        for field, kind in SCHEMA.get(name, {}).items():
            places = [
                self._at(header + 4 + 2 * each, "<H") if 4 + 2 * each < size else 0
                for each in range(slot, slot + _slots(kind))
            ]
            slot += _slots(kind)
            if isinstance(kind, Skipped) or not all(places):
                continue
            at = place + places[-1]
            if isinstance(kind, Union):
                number = self._at(place + places[0], "<B")
                if 0 < number <= len(kind.tables):
                    chosen = kind.tables[number - 1]
                    found[field] = (chosen, self.table(chosen, at + self._at(at, "<I"), depth + 1))
            elif kind == _BYTE:
                found[field] = self._at(at, "<b")
            else:
                found[field] = self._value(kind, at + self._at(at, "<I"), depth)
        return found

    def _value(self, kind: Kind, at: int, depth: int) -> Any:
        if kind == _TEXT:
            return self._text(at)
        if isinstance(kind, str) and kind not in (_TEXTS, _FLOATS):
            return self.table(kind, at, depth + 1)
        places = range(at + 4, at + 4 + 4 * self._at(at, "<I"), 4)
        if len(places) > len(self._data):
            raise ValueError(f"a list of {len(places)} in {len(self._data)} bytes of metadata")
        if kind == _FLOATS:
            return [self._at(each, "<f") for each in places]
        if isinstance(kind, list):
            return [self.table(kind[0], each + self._at(each, "<I"), depth + 1) for each in places]
        return [self._text(each + self._at(each, "<I")) for each in places]

    def _text(self, at: int) -> str:
        size = self._at(at, "<I")
        if at + 4 + size > len(self._data):
            raise ValueError(f"a text of {size} bytes in {len(self._data)} bytes of metadata")
        return self._data[at + 4 : at + 4 + size].decode()

    def _at(self, place: int, kind: str) -> Any:
        return _number(self._data, place, kind)


def _number(data: bytes, place: int, kind: str) -> Any:
    if place < 0 or place + struct.calcsize(kind) > len(data):
        raise ValueError(f"an offset to byte {place} of {len(data)} bytes of metadata")
    return struct.unpack_from(kind, data, place)[0]
