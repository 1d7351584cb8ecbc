"""Tiny .tflite and .onnx files for tests of timing, made without TensorFlow: each input looks up rows of a table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import schema

WIDTH = 4


def onnx_lookup(inputs: Mapping[str, int], shape: Sequence[int | str] = ("batch", "length")) -> bytes:
    """`inputs`: name -> rows of its table. The shape holds for all of them."""
    nodes, tables, given, answers = [], [], [], []
    for name, rows in inputs.items():
        table = np.arange(rows * WIDTH, dtype=np.float32).reshape(rows, WIDTH)
        tables.append(onnx.numpy_helper.from_array(table, f"{name}_table"))
        nodes.append(onnx.helper.make_node("Gather", [f"{name}_table", name], [f"{name}_rows"]))
        given.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, shape))
        answers.append(onnx.helper.make_tensor_value_info(f"{name}_rows", onnx.TensorProto.FLOAT, [*shape, WIDTH]))
    graph = onnx.helper.make_graph(nodes, "lookup", given, answers, tables)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def tflite_lookup(
    inputs: Mapping[str, int], *, length: int = 8, signature: str | None = None, graphs: int = 1
) -> bytes:
    """The same as .tflite, with int32 inputs [1, length]; several `graphs` have the signatures `signature_N`."""
    model = schema.ModelT()
    model.version = 3
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.GATHER
    code.version = 1
    model.operatorCodes, model.buffers = [code], [schema.BufferT()]
    model.subgraphs, model.signatureDefs = [], []
    for number in range(graphs):
        graph = _graph(model, inputs, length)
        model.subgraphs.append(graph)
        if signature is not None:
            entry = schema.SignatureDefT()
            entry.signatureKey = f"{signature}_{number}" if graphs > 1 else signature
            entry.subgraphIndex = number
            entry.inputs = [_entry(name, index) for name, index in zip(inputs, graph.inputs, strict=True)]
            entry.outputs = [_entry(f"{name}_rows", index) for name, index in zip(inputs, graph.outputs, strict=True)]
            model.signatureDefs.append(entry)
    return write_model(model)


def crashes_litert() -> bytes:
    """A SPLIT without its options, which LiteRT 2.3 reads through a null pointer (SIGSEGV). Every offset and index in
    the file is right.
    """
    model = read_model(tflite_lookup({"ids": 9}))
    model.operatorCodes[0].builtinCode = model.operatorCodes[0].deprecatedBuiltinCode = schema.BuiltinOperator.SPLIT
    (step,) = model.subgraphs[0].operators
    step.builtinOptionsType, step.builtinOptions = 0, None
    return write_model(model)


def _graph(model: Any, inputs: Mapping[str, int], length: int) -> Any:
    graph = schema.SubGraphT()
    graph.tensors, graph.inputs, graph.outputs, graph.operators = [], [], [], []

    def tensor(name: str, shape: list[int], kind: int, values: np.ndarray | None = None) -> int:
        made = schema.TensorT()
        made.name, made.shape, made.type, made.buffer = name, shape, kind, 0
        if values is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(values.tobytes(), np.uint8)
            model.buffers.append(buffer)
            made.buffer = len(model.buffers) - 1
        graph.tensors.append(made)
        return len(graph.tensors) - 1

    for name, rows in inputs.items():
        table = np.arange(rows * WIDTH, dtype=np.float32)
        step = schema.OperatorT()
        step.opcodeIndex = 0
        step.builtinOptionsType, step.builtinOptions = schema.BuiltinOptions.GatherOptions, schema.GatherOptionsT()
        given = tensor(name, [1, length], schema.TensorType.INT32)
        step.inputs = [tensor(f"{name}_table", [rows, WIDTH], schema.TensorType.FLOAT32, table), given]
        step.outputs = [tensor(f"{name}_rows", [1, length, WIDTH], schema.TensorType.FLOAT32)]
        graph.operators.append(step)
        graph.inputs.append(given)
        graph.outputs += step.outputs
    return graph


def _entry(name: str, index: int) -> Any:
    made = schema.TensorMapT()
    made.name, made.tensorIndex = name, index
    return made
