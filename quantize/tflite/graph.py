"""A typed view of the objects in a .tflite file, and the small steps that passes are made of.

The protocols name the fields that are read or written here; the objects behind them are those of the schema, read and
written by `flatbuffer.py`. Vectors of whole numbers are lists of int.
"""

from collections.abc import Iterable
from typing import Protocol

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from quantize.arrays import Array

__all__ = ["schema"]


class Table(Protocol):
    """Anything that can be written."""

    def Pack(self, builder: flatbuffers.Builder) -> int: ...  # noqa: N802 - the library's name


class Quantization(Protocol):
    """Scales of a tensor: one, or one for each slice along an axis."""

    scale: Array | None
    zeroPoint: Array | None  # noqa: N815 - names of the schema, here and below
    quantizedDimension: int  # noqa: N815
    min: Array | None
    max: Array | None
    detailsType: int  # noqa: N815


class Tensor(Table, Protocol):
    """A constant or an activation. Without a shape it is a scalar."""

    shape: list[int] | None
    type: int
    buffer: int
    name: str | bytes | None
    quantization: Quantization | None
    shapeSignature: list[int] | None  # noqa: N815
    hasRank: bool  # noqa: N815
    isVariable: bool  # noqa: N815


class Options(Protocol):
    """Fields of options that are used here; which of them there are depends on the operator."""

    fusedActivationFunction: int  # noqa: N815
    asymmetricQuantizeInputs: bool  # noqa: N815
    adjY: bool  # noqa: N815
    inDataType: int  # noqa: N815
    outDataType: int  # noqa: N815
    newShape: Array  # noqa: N815
    axis: int
    batchDims: int  # noqa: N815


class Operator(Protocol):
    """One step; -1 among the inputs stands for one that is left out."""

    opcodeIndex: int  # noqa: N815
    inputs: list[int]
    outputs: list[int]
    builtinOptionsType: int  # noqa: N815
    builtinOptions: Options  # noqa: N815
    builtinOptions2Type: int  # noqa: N815
    builtinOptions2: object  # noqa: N815
    customOptions: Array | None  # noqa: N815
    intermediates: list[int] | None
    mutatingVariableInputs: Array | None  # noqa: N815
    debugMetadataIndex: int  # noqa: N815


class OperatorCode(Protocol):
    """An operator's code and version, which operators refer to."""

    builtinCode: int  # noqa: N815
    deprecatedBuiltinCode: int  # noqa: N815
    customCode: str | bytes | None  # noqa: N815
    version: int


class Buffer(Table, Protocol):
    """The bytes of constants; none for activations."""

    data: Array | None
    offset: int
    size: int


class SignatureEntry(Protocol):
    """The name of an input or output."""

    name: str | bytes
    tensorIndex: int  # noqa: N815


class Signature(Protocol):
    """How a subgraph is called."""

    inputs: list[SignatureEntry]
    outputs: list[SignatureEntry]
    signatureKey: str | bytes  # noqa: N815
    subgraphIndex: int  # noqa: N815


class Graph(Protocol):
    """A subgraph: its operators run in order."""

    tensors: list[Tensor]
    inputs: list[int]
    outputs: list[int]
    operators: list[Operator]
    name: str | bytes | None
    debugMetadataIndex: int  # noqa: N815


class Metadata(Protocol):
    """What a converter noted; a buffer holds it."""

    buffer: int


class Model(Table, Protocol):
    """A whole file."""

    operatorCodes: list[OperatorCode]  # noqa: N815
    subgraphs: list[Graph]
    buffers: list[Buffer]
    signatureDefs: list[Signature] | None  # noqa: N815
    description: str | bytes | None
    metadata: list[Metadata] | None
    metadataBuffer: list[int] | None  # noqa: N815


def _names(enum: type) -> dict[int, str]:
    return {value: name for name, value in vars(enum).items() if isinstance(value, int)}


OP_NAMES = _names(schema.BuiltinOperator)
TYPE_NAMES = _names(schema.TensorType)
# Types of inputs that hold whole numbers.
INTEGERS = (schema.TensorType.INT8, schema.TensorType.INT32)


def builtin_code(code: OperatorCode) -> int:
    """The operator's code; files of old writers hold it in the 8-bit field."""
    return max(code.builtinCode, code.deprecatedBuiltinCode)


def old_code(builtin: int) -> int:
    """For the 8-bit field, which is all that old readers know; codes past it are marked by the placeholder."""
    return min(builtin, int(schema.BuiltinOperator.PLACEHOLDER_FOR_GREATER_OP_CODES))


def op_name(model: Model, operator: Operator) -> str:
    """CONV_2D and so on; the name given by its author for a custom operator."""
    code = model.operatorCodes[operator.opcodeIndex]
    if builtin_code(code) == schema.BuiltinOperator.CUSTOM:
        return text(code.customCode)
    return OP_NAMES.get(builtin_code(code), f"BUILTIN_{builtin_code(code)}")


def text(name: str | bytes | None) -> str:
    """A name as text; the schema gives bytes when it reads."""
    return name.decode() if isinstance(name, bytes) else str(name or "")


def tensor_name(tensor: Tensor) -> str:
    return text(tensor.name)


def shape(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape or ())


def is_constant(model: Model, tensor: Tensor) -> bool:
    """Whether the file holds the tensor's data; cheaper than to ask for the bytes."""
    data = model.buffers[tensor.buffer].data
    return data is not None and len(data) > 0


def buffer_bytes(model: Model, tensor: Tensor) -> bytes | None:
    """The constant data of a tensor; None for an activation."""
    data = model.buffers[tensor.buffer].data
    return None if data is None or len(data) == 0 else np.asarray(data, np.uint8).tobytes()


def float_values(model: Model, tensor: Tensor) -> Array:
    """The values of a float32 constant, not to be written to: they are those of the file."""
    data = model.buffers[tensor.buffer].data
    values = np.zeros(0, np.uint8) if data is None else np.ascontiguousarray(data, np.uint8)
    return values.view(np.float32).reshape(shape(tensor))


def readers(graph: Graph) -> dict[int, list[Operator]]:
    """Operators by the tensors that they read, once for each time that they read it."""
    found: dict[int, list[Operator]] = {}
    for operator in graph.operators:
        for index in operator.inputs:
            found.setdefault(index, []).append(operator)
    return found


def producers(graph: Graph) -> dict[int, Operator]:
    """Operators by the tensors that they make."""
    return {index: operator for operator in graph.operators for index in operator.outputs}


def looks_up_positions(model: Model, graph: Graph, operator: Operator) -> bool:
    """Whether it reads the rows 0, 1, 2 and so on of a float table, as a graph of any length reads its positions."""
    if op_name(model, operator) != "GATHER" or graph.tensors[operator.inputs[0]].type != schema.TensorType.FLOAT32:
        return False
    return any(op_name(model, other) == "CUMSUM" and operator.inputs[1] in other.outputs for other in graph.operators)


def called_graphs(model: Model) -> set[int]:
    """Subgraphs that operators call: the branches of IF, the condition and the body of WHILE."""
    fields = {
        int(schema.BuiltinOptions.IfOptions): ("thenSubgraphIndex", "elseSubgraphIndex"),
        int(schema.BuiltinOptions.WhileOptions): ("condSubgraphIndex", "bodySubgraphIndex"),
    }
    return {
        int(getattr(operator.builtinOptions, field))
        for graph in model.subgraphs
        for operator in graph.operators
        for field in fields.get(operator.builtinOptionsType, ())
    }


def tensors_of(operator: Operator) -> list[int]:
    """Inputs, those left out aside, and outputs."""
    return [index for index in (*operator.inputs, *operator.outputs) if index >= 0]


def add_operator_code(model: Model, builtin: int, version: int) -> int:
    """The position of that operator code in the model, which gets it when it has none."""
    for position, code in enumerate(model.operatorCodes):
        if builtin_code(code) == builtin and code.version == version and not code.customCode:
            return position
    code = schema.OperatorCodeT()
    code.builtinCode, code.version = builtin, version
    code.deprecatedBuiltinCode = old_code(builtin)
    model.operatorCodes = [*model.operatorCodes, code]
    return len(model.operatorCodes) - 1


def new_operator(model: Model, builtin: int, version: int, inputs: Iterable[int], outputs: Iterable[int]) -> Operator:
    """An operator without options, which the caller puts in its place."""
    operator: Operator = schema.OperatorT()
    operator.opcodeIndex = add_operator_code(model, builtin, version)
    operator.inputs, operator.outputs = list(inputs), list(outputs)
    return operator


def new_product(model: Model, source: int, factors: int, target: int) -> Operator:
    """MUL in float."""
    operator = new_operator(model, schema.BuiltinOperator.MUL, 1, [source, factors], [target])
    operator.builtinOptionsType = schema.BuiltinOptions.MulOptions
    operator.builtinOptions = schema.MulOptionsT()
    return operator


def add_tensor(graph: Graph, like: Tensor, kind: int, name: str | None = None) -> int:
    """The index of a new activation with the shape of another one."""
    tensor: Tensor = schema.TensorT()
    tensor.shape, tensor.type, tensor.name, tensor.buffer = like.shape, kind, name, 0
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1


def add_buffer(model: Model, values: Array) -> int:
    """The position of a new buffer with the bytes of these values."""
    buffer: Buffer = schema.BufferT()
    buffer.data = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
    model.buffers.append(buffer)
    return len(model.buffers) - 1


def add_constant(model: Model, graph: Graph, values: Array, name: str | None = None) -> int:
    """The index of a new float32 constant."""
    tensor: Tensor = schema.TensorT()
    tensor.shape, tensor.type, tensor.name = list(values.shape), schema.TensorType.FLOAT32, name
    tensor.buffer = add_buffer(model, values.astype(np.float32))
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1


def has_scale(tensor: Tensor) -> bool:
    found = tensor.quantization
    return found is not None and found.scale is not None and len(found.scale) > 0


def set_scale(tensor: Tensor, scale: Array, zero_point: Array, axis: int = 0) -> None:
    """Gives the tensor scales and zero points, along an axis where there are several."""
    quantization: Quantization = schema.QuantizationParametersT()
    quantization.scale, quantization.zeroPoint, quantization.quantizedDimension = scale, zero_point, axis
    tensor.quantization = quantization
