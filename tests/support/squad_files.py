"""Small SQuAD files: JSON, and the same as TFRecords in the form of run_squad.py."""

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

PASSAGE = "Anna Smith lives in Berlin, the good. Bad films play in a movie, Smith's film was un-able when anna plays."
QUESTIONS = [
    ("q1", "Where is Anna?", ["Berlin", "in Berlin"]),
    ("q2", "Who plays?", ["anna"]),
    ("q3", "When was the film unable?", ["when anna plays"]),
]


def document(passage: str = PASSAGE, questions: Sequence[tuple[str, str, Sequence[str]]] = QUESTIONS) -> dict:
    qas = [
        {"id": name, "question": text, "answers": [{"text": a, "answer_start": passage.index(a)} for a in answers]}
        for name, text, answers in questions
    ]
    return {"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": passage, "qas": qas}]}]}


def write_json(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def example(values: Mapping[str, Sequence[int] | Sequence[bytes]]) -> bytes:
    """A serialized tf.train.Example."""
    entries = b""
    for name, items in values.items():
        if items and isinstance(items[0], bytes):
            feature = _field(1, b"".join(_field(1, item) for item in items))  # type: ignore[arg-type]
        else:
            feature = _field(3, _field(1, b"".join(map(_varint, items))) if items else b"")  # type: ignore[arg-type]
        entries += _field(1, _field(1, name.encode()) + _field(2, feature))
    return _field(1, entries)


def record(data: bytes) -> bytes:
    """A record of a TFRecord file, with checksums of zero (they are not read)."""
    return struct.pack("<QI", len(data), 0) + data + struct.pack("<I", 0)


def write_records(
    folder: Path, windows: Sequence[Mapping[str, Sequence]], truths: Sequence[Mapping[str, Sequence]]
) -> Path:
    for name, examples in (("squad_eval.tfrecord", windows), ("squad_groundtruth.tfrecord", truths)):
        (folder / name).write_bytes(zlib.compress(b"".join(record(example(values)) for values in examples)))
    return folder
