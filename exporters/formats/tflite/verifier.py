"""Checks that every offset in a .tflite file stays inside it, before generated code or a native runtime reads it.

Python's flatbuffers runtime has no verifier: it would follow an offset anywhere, also backwards from the end. Walks the
tables of the schema; of operator options, which have over a hundred kinds, only the header. Leaves out what the numbers
mean: see `file.py`.
"""

import struct
from collections.abc import Iterator

_IDENTIFIER = b"TFL3"
# As in the C++ verifier: small files must not name the same tables over and over.
_MOST_TABLES = 1_000_000

# The fields of a table by slot: the bytes per element of a vector, or the table(s) it points to. Slots not listed hold
# plain numbers.
_TEXT, _BYTES, _INT32, _INT64, _OPTIONS = 1, 1, 4, 8, "Options"
_TABLES: dict[str, dict[int, int | str | list[str]]] = {
    "Model": {
        1: ["OperatorCode"],
        2: ["SubGraph"],
        3: _TEXT,
        4: ["Buffer"],
        5: _INT32,
        6: ["Metadata"],
        7: ["SignatureDef"],
    },
    "OperatorCode": {1: _TEXT},
    "SubGraph": {0: ["Tensor"], 1: _INT32, 2: _INT32, 3: ["Operator"], 4: _TEXT},
    "Tensor": {0: _INT32, 3: _TEXT, 4: "Quantization", 6: "Sparsity", 7: _INT32, 9: [_OPTIONS]},
    "Quantization": {0: _INT32, 1: _INT32, 2: _INT32, 3: _INT64, 5: _OPTIONS},
    "Sparsity": {0: _INT32, 1: _INT32, 2: [_OPTIONS]},
    "Operator": {1: _INT32, 2: _INT32, 4: _OPTIONS, 5: _BYTES, 7: _BYTES, 8: _INT32, 12: _OPTIONS},
    "Buffer": {0: _BYTES},
    "Metadata": {0: _TEXT},
    "SignatureDef": {0: ["TensorMap"], 1: ["TensorMap"], 2: _TEXT},
    "TensorMap": {0: _TEXT},
    _OPTIONS: {},
}


def verify(data: bytes) -> None:
    """Raises ValueError if the file is broken."""
    if data[4:8] != _IDENTIFIER:
        raise ValueError(f"{data[4:8]!r} at byte 4, not {_IDENTIFIER!r}")
    waiting = [("Model", _number(data, 0, "<I"))]
    seen = 0
    while waiting:
        seen += 1
        if seen > _MOST_TABLES:
            raise ValueError(f"more than {_MOST_TABLES} tables")
        waiting += _table(data, *waiting.pop())


def _table(data: bytes, kind: str, place: int) -> Iterator[tuple[str, int]]:
    """Checks a table and yields the tables it points to."""
    header = place - _number(data, place, "<i")
    slots, size = _number(data, header, "<H"), _number(data, header + 2, "<H")
    if slots < 4 or slots % 2 or size < 4:
        raise ValueError(f"a {kind} whose header has {slots} bytes for {size}")
    _inside(data, header, slots)
    _inside(data, place, size)
    for slot, target in _TABLES[kind].items():
        offset = _number(data, header + 4 + 2 * slot, "<H") if 4 + 2 * slot < slots else 0
        if not offset:
            continue
        if offset + 4 > size:
            raise ValueError(f"a {kind} with a field at byte {offset} of {size}")
        at = place + offset + _number(data, place + offset, "<I")
        if isinstance(target, str):
            yield target, at
            continue
        count = _number(data, at, "<I")
        _inside(data, at + 4, count * (target if isinstance(target, int) else 4))
        if isinstance(target, list):
            for element in range(at + 4, at + 4 + 4 * count, 4):
                yield target[0], element + _number(data, element, "<I")


def _number(data: bytes, place: int, kind: str) -> int:
    _inside(data, place, struct.calcsize(kind))
    return int(struct.unpack_from(kind, data, place)[0])


def _inside(data: bytes, place: int, size: int) -> None:
    if place < 0 or place + size > len(data):
        raise ValueError(f"an offset to bytes {place} to {place + size} of {len(data)}")
