"""Reads and writes .tflite files as objects: the one place that knows the schema classes.

`read_model` gives the mutable object tree that the passes edit. `write_model` is the small writer: equal
vectors and equal tables are stored once, and the data of every buffer starts at a multiple of 16 bytes,
as the schema asks (Python's flatbuffers writer ignores `force_align`). Both are pure functions on bytes;
nothing here decides what may be left out, that is the business of the passes.
"""

from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

FILE_IDENTIFIER = b"TFL3"
BUFFER_ALIGNMENT = 16
# A flatbuffer offset is 32 bits wide; bigger models need external buffers, which are not written here.
MAX_FILE_BYTES = 2**31 - 1

# The schema's object classes carry no type hints, so a model is `Any` from here on.
Model = Any


def read_model(data: bytes) -> Model:
    """The object tree of a .tflite file."""
    if data[4:8] != FILE_IDENTIFIER:
        raise ValueError(f"A .tflite file has {FILE_IDENTIFIER!r} at byte 4. Received: {bytes(data[4:8])!r}.")
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(bytearray(data), 0))
    for buffer in model.buffers:
        # Large models may keep their data behind the flatbuffer; offset 1 with size 0 marks an empty place there.
        if buffer.size > 0 and (buffer.data is None or len(buffer.data) == 0):
            if buffer.offset + buffer.size > len(data):
                raise ValueError(f"A buffer ends at byte {buffer.offset + buffer.size}. Received: {len(data)} bytes.")
            buffer.data = np.frombuffer(data, np.uint8, buffer.size, buffer.offset)
        buffer.offset = buffer.size = 0
    return model


class _SharingBuilder(flatbuffers.Builder):
    """A flatbuffers builder that writes equal numpy vectors and strings once."""

    def __init__(self, initial_size: int) -> None:
        super().__init__(initial_size)
        self._vectors: dict[tuple[str, bytes, bool], int] = {}
        self._strings: dict[bytes, int] = {}
        self.aligned = False

    def CreateNumpyVector(self, x: np.ndarray) -> int:  # noqa: N802 (the library's name)
        key = (x.dtype.str, x.tobytes(), self.aligned)
        if key not in self._vectors:
            if self.aligned:
                # The length (4 bytes) sits in front of the data, so it is the data that must end up aligned.
                self.Prep(BUFFER_ALIGNMENT, x.nbytes)
            self._vectors[key] = super().CreateNumpyVector(x)
        return self._vectors[key]

    def CreateString(self, s: Any, encoding: str = "utf-8", errors: str = "strict") -> int:  # noqa: N802
        key = s if isinstance(s, bytes) else s.encode(encoding, errors)
        if key not in self._strings:
            self._strings[key] = super().CreateString(key)
        return self._strings[key]


class _Shared:
    """Stands for a table that several places refer to: packed on the first call, reused after."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self._offset: int | None = None

    def Pack(self, builder: flatbuffers.Builder) -> int:  # noqa: N802 (the library's name)
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


def table_key(value: Any) -> Any:
    """A hashable picture of a table, equal for tables that hold the same values."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, list | tuple):
        return tuple(table_key(item) for item in value)
    if hasattr(value, "__dict__"):
        return (type(value).__name__, *((name, table_key(item)) for name, item in sorted(vars(value).items())))
    return value


def write_model(model: Model) -> bytes:
    """The bytes of the model; the object tree is left as it was."""
    restore: list[tuple[Any, str, Any]] = []

    def swap(owner: Any, field: str, value: Any) -> None:
        restore.append((owner, field, getattr(owner, field)))
        setattr(owner, field, value)

    shared: dict[Any, _Shared] = {}

    def share(owner: Any, field: str) -> None:
        table = getattr(owner, field)
        if table is not None:
            swap(owner, field, shared.setdefault(table_key(table), _Shared(table)))

    size = 4096 + sum(len(buffer.data) + 64 for buffer in model.buffers if buffer.data is not None)
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
        empty: dict[Any, _AlignedBuffer] = {}
        buffers = [
            empty.setdefault(table_key(b), _AlignedBuffer(b)) if _is_empty(b) else _AlignedBuffer(b)
            for b in model.buffers
        ]
        swap(model, "buffers", buffers)
        builder = _SharingBuilder(size)
        builder.Finish(model.Pack(builder), file_identifier=FILE_IDENTIFIER)
    finally:
        for owner, field, value in reversed(restore):
            setattr(owner, field, value)
    data = bytes(builder.Output())
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"A .tflite file holds at most {MAX_FILE_BYTES} bytes. Received: {len(data)}.")
    return data


def _is_empty(buffer: Any) -> bool:
    return buffer.data is None or len(buffer.data) == 0


def _as_arrays(owner: Any, swap: Any, **dtypes: Any) -> None:
    """Turns vectors of integers into arrays, the form in which the builder can share them."""
    for field, dtype in dtypes.items():
        value = getattr(owner, field)
        if value is not None:
            swap(owner, field, np.asarray(value, dtype))


def builtin_code(operator_code: Any) -> int:
    """The operator's code; files of old writers hold it in the 8-bit field."""
    return max(operator_code.builtinCode, operator_code.deprecatedBuiltinCode)


def add_operator_code(model: Model, builtin: int, version: int) -> int:
    """The position of that operator code in the model, which gets it when it has none."""
    for position, code in enumerate(model.operatorCodes):
        if builtin_code(code) == builtin and code.version == version and not code.customCode:
            return position
    code = schema.OperatorCodeT()
    code.builtinCode, code.version = builtin, version
    # Old readers know an 8-bit field only; codes past it are marked by the placeholder.
    code.deprecatedBuiltinCode = min(builtin, schema.BuiltinOperator.PLACEHOLDER_FOR_GREATER_OP_CODES)
    model.operatorCodes = [*model.operatorCodes, code]
    return len(model.operatorCodes) - 1


def _names(enum: type) -> dict[int, str]:
    return {value: name for name, value in vars(enum).items() if isinstance(value, int)}


OP_NAMES = _names(schema.BuiltinOperator)
TYPE_NAMES = _names(schema.TensorType)


def op_name(model: Model, operator: Any) -> str:
    """CONV_2D and so on; the name given by its author for a custom operator."""
    code = model.operatorCodes[operator.opcodeIndex]
    if builtin_code(code) == schema.BuiltinOperator.CUSTOM:
        name = code.customCode
        return name.decode() if isinstance(name, bytes) else str(name)
    return OP_NAMES.get(builtin_code(code), f"BUILTIN_{builtin_code(code)}")


def buffer_bytes(model: Model, tensor: Any) -> bytes | None:
    """The constant data of a tensor; None for an activation."""
    data = model.buffers[tensor.buffer].data
    return None if data is None or len(data) == 0 else np.asarray(data, np.uint8).tobytes()


def is_constant(model: Model, tensor: Any) -> bool:
    """Whether the file holds the tensor's data; cheaper than to ask for the bytes."""
    data = model.buffers[tensor.buffer].data
    return data is not None and len(data) > 0


def tensor_name(tensor: Any) -> str:
    name = tensor.name
    return name.decode() if isinstance(name, bytes) else str(name or "")
