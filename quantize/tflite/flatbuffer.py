"""Reads and writes .tflite files.

`read_model` gives the mutable objects that the passes edit (`graph.py`). `write_model` is the small writer: equal
vectors and equal tables are stored once, and the data of every buffer starts at a multiple of 16 bytes, as the schema
asks (Python's flatbuffers writer ignores `force_align`). Both are pure functions on bytes; what may be left out of a
file is decided by the passes.
"""

from collections.abc import Callable, Hashable, Iterable

import flatbuffers
import numpy as np

from quantize.arrays import Array, digest
from quantize.tflite.graph import Model, Table, schema

FILE_IDENTIFIER = b"TFL3"
BUFFER_ALIGNMENT = 16
# A flatbuffer offset is 32 bits wide; bigger models need external buffers, which are not written here.
MAX_FILE_BYTES = 2**31 - 1
# More than a tensor or an operator takes beside its data: a builder that runs out of room copies all it has.
_TABLE_BYTES = 512


def read_model(data: bytes) -> Model:
    """The objects of a .tflite file. Their arrays are views of its bytes, so they are replaced, never written to."""
    if data[4:8] != FILE_IDENTIFIER:
        raise ValueError(f"A .tflite file has {FILE_IDENTIFIER!r} at byte 4. Received: {bytes(data[4:8])!r}.")
    model: Model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))
    for graph in model.subgraphs:
        graph.inputs, graph.outputs = _whole_numbers(graph.inputs), _whole_numbers(graph.outputs)
        for operator in graph.operators:
            operator.inputs, operator.outputs = _whole_numbers(operator.inputs), _whole_numbers(operator.outputs)
        for tensor in graph.tensors:
            tensor.shape = None if tensor.shape is None else _whole_numbers(tensor.shape)
    for buffer in model.buffers:
        # Large models may keep their data behind the flatbuffer; offset 1 with size 0 marks an empty place there.
        if buffer.size > 0 and _is_empty(buffer.data):
            if buffer.offset + buffer.size > len(data):
                raise ValueError(f"A buffer ends at byte {buffer.offset + buffer.size}. Received: {len(data)} bytes.")
            buffer.data = np.frombuffer(data, np.uint8, buffer.size, buffer.offset)
        buffer.offset = buffer.size = 0
    return model


def _whole_numbers(vector: Iterable[int] | None) -> list[int]:
    return [] if vector is None else [int(number) for number in vector]


def _is_empty(data: Array | None) -> bool:
    return data is None or len(data) == 0


class _SharingBuilder(flatbuffers.Builder):  # type: ignore[misc] # the library has no types
    """A flatbuffers builder that writes equal numpy vectors and strings once."""

    def __init__(self, initial_size: int) -> None:
        super().__init__(initial_size)
        self._vectors: dict[tuple[str, bytes, bool], int] = {}
        self._strings: dict[bytes, int] = {}
        self.aligned = False

    def CreateNumpyVector(self, x: Array) -> int:  # noqa: N802 - the library's name, here and below
        key = (x.dtype.str, digest(x), self.aligned)
        if key not in self._vectors:
            if self.aligned:
                # The length (4 bytes) sits in front of the data, so it is the data that must end up aligned.
                self.Prep(BUFFER_ALIGNMENT, x.nbytes)
            self._vectors[key] = super().CreateNumpyVector(x)
        return self._vectors[key]

    def CreateString(self, s: str | bytes, encoding: str = "utf-8", errors: str = "strict") -> int:  # noqa: N802
        key = s if isinstance(s, bytes) else s.encode(encoding, errors)
        if key not in self._strings:
            self._strings[key] = super().CreateString(key)
        return self._strings[key]


class _Shared:
    """Stands for a table that several places refer to: packed on the first call, reused after."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._offset: int | None = None

    def Pack(self, builder: flatbuffers.Builder) -> int:  # noqa: N802
        if self._offset is None:
            self._offset = self._table.Pack(builder)
        return self._offset


class _AlignedBuffer(_Shared):
    """A buffer table whose data is written with the alignment of the schema."""

    def Pack(self, builder: flatbuffers.Builder) -> int:  # noqa: N802
        if self._offset is None and isinstance(builder, _SharingBuilder):
            builder.aligned = True
            super().Pack(builder)
            builder.aligned = False
        return super().Pack(builder)


def table_key(value: object) -> Hashable:
    """A hashable picture of a table, equal for tables that hold the same values."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, list | tuple):
        return tuple(table_key(item) for item in value)
    if hasattr(value, "__dict__"):
        return (type(value).__name__, *((name, table_key(item)) for name, item in sorted(vars(value).items())))
    return value


def write_model(model: Model) -> bytes:
    """The bytes of the model; the objects are left as they were."""
    restore: list[tuple[object, str, object]] = []

    def swap(owner: object, field: str, value: object) -> None:
        restore.append((owner, field, getattr(owner, field)))
        setattr(owner, field, value)

    shared: dict[Hashable, _Shared] = {}

    def share(owner: object, field: str) -> None:
        table = getattr(owner, field)
        if table is not None:
            swap(owner, field, shared.setdefault(table_key(table), _Shared(table)))

    size = 4096 + sum(len(buffer.data) + 64 for buffer in model.buffers if buffer.data is not None)
    size += _TABLE_BYTES * sum(len(graph.tensors) + len(graph.operators) for graph in model.subgraphs)
    try:
        for graph in model.subgraphs:
            for tensor in graph.tensors:
                _as_arrays(tensor, swap, shape=np.int32, shapeSignature=np.int32)
            # Tensors without a name that agree in shape, type and scale are one table, named many times.
            keys = [table_key(tensor) for tensor in graph.tensors]
            for tensor in graph.tensors:
                share(tensor, "quantization")
            swap(graph, "tensors", [shared.setdefault(k, _Shared(t)) for k, t in zip(keys, graph.tensors, strict=True)])
            for operator in graph.operators:
                share(operator, "builtinOptions")
                share(operator, "builtinOptions2")
                _as_arrays(operator, swap, inputs=np.int32, outputs=np.int32, customOptions=np.uint8)
            _as_arrays(graph, swap, inputs=np.int32, outputs=np.int32)
        empty: dict[Hashable, _AlignedBuffer] = {}
        buffers = [
            empty.setdefault(table_key(b), _AlignedBuffer(b)) if _is_empty(b.data) else _AlignedBuffer(b)
            for b in model.buffers
        ]
        swap(model, "buffers", buffers)
        builder = _SharingBuilder(size)
        builder.Finish(model.Pack(builder), file_identifier=FILE_IDENTIFIER)
    finally:
        for owner, field, value in reversed(restore):
            setattr(owner, field, value)
    data = bytes(memoryview(builder.Bytes)[builder.Head() :])
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"A .tflite file holds at most {MAX_FILE_BYTES} bytes. Received: {len(data)}.")
    return data


def _as_arrays(owner: object, swap: Callable[[object, str, object], None], **dtypes: type[np.generic]) -> None:
    """Turns vectors of integers into arrays, the form in which the builder can share them."""
    for field, dtype in dtypes.items():
        value = getattr(owner, field)
        if value is not None:
            swap(owner, field, np.asarray(value, dtype))
