"""TFLite files of one int8 operator with given scales, and what becomes of a process that runs them."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from quantize.tflite.flatbuffer import write_model
from quantize.tflite.graph import add_buffer, add_operator_code, set_scale

_ELEMENT_WISE = {"ADD": schema.AddOptionsT, "SUB": schema.SubOptionsT, "SQUARED_DIFFERENCE": None}
# Forks for each file, so that what ends one run does not end the next. Answers with exit codes, negative for signals.
_RUN_ALL = """
import json, os, sys
from ai_edge_litert.interpreter import Interpreter
codes = []
for path in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            interpreter = Interpreter(model_path=path, num_threads=1)
            interpreter.allocate_tensors()
            interpreter.invoke()
        except RuntimeError:
            os._exit(1)
        os._exit(0)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(codes))
"""


def model(name: str, scales: Sequence[float], sizes: Sequence[int] = (1, 8), inputs: Sequence[str] = ("a", "b")) -> Any:
    """An operator with two inputs of these scales and a result of the last; FULLY_CONNECTED has constant weights."""
    made = schema.ModelT()
    made.version, made.operatorCodes, made.buffers, made.metadata = 3, [], [schema.BufferT()], []
    graph = schema.SubGraphT()
    graph.tensors, graph.name = [], "main"
    for scale in scales:
        tensor = schema.TensorT()
        tensor.shape, tensor.type, tensor.buffer = list(sizes), schema.TensorType.INT8, 0
        tensor.name = f"t{len(graph.tensors)}"
        set_scale(tensor, np.array([scale], np.float32), np.zeros(1, np.int64))
        graph.tensors.append(tensor)
    operator = schema.OperatorT()
    operator.opcodeIndex = add_operator_code(made, getattr(schema.BuiltinOperator, name), 2)
    graph.inputs, graph.outputs, operator.inputs, operator.outputs = [0, 1], [2], [0, 1], [2]
    if name == "FULLY_CONNECTED":
        graph.inputs, operator.inputs = [0], [0, 1, -1]
        graph.tensors[1].shape = [sizes[-1], sizes[-1]]
        graph.tensors[1].buffer = add_buffer(made, np.ones((sizes[-1], sizes[-1]), np.int8))
        operator.builtinOptionsType = schema.BuiltinOptions.FullyConnectedOptions
        operator.builtinOptions = schema.FullyConnectedOptionsT()
    elif _ELEMENT_WISE[name] is not None:
        operator.builtinOptions = _ELEMENT_WISE[name]()
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, name.capitalize() + "Options")
    graph.operators, made.subgraphs = [operator], [graph]
    made.signatureDefs = [_signature(graph, inputs)]
    return made


def aborting_file(inputs: Sequence[str], sizes: Sequence[int]) -> bytes:
    """A file on which LiteRT aborts: an ADD of the first input with itself, in steps that no kernel takes."""
    made = model("ADD", (1.0, 1.0, 1e-9), sizes, inputs)
    (graph,) = made.subgraphs
    graph.inputs, graph.operators[0].inputs = [0], [0, 0]
    made.signatureDefs[0].inputs = made.signatureDefs[0].inputs[:1]
    return write_model(made)


def codes(models: Sequence[Any], folder: Path) -> list[int]:
    """How a process ends that runs each of them."""
    paths = []
    for number, one in enumerate(models):
        paths.append(folder / f"{number}.tflite")
        paths[-1].write_bytes(write_model(one))
    done = subprocess.run([sys.executable, "-c", _RUN_ALL, *paths], capture_output=True, check=True)
    found: list[int] = json.loads(done.stdout.splitlines()[-1])
    return found


def _signature(graph: Any, inputs: Sequence[str]) -> Any:
    made = schema.SignatureDefT()
    made.signatureKey, made.subgraphIndex = "serving_default", 0
    made.inputs = [_entry(name, index) for name, index in zip(inputs, graph.inputs, strict=False)]
    made.outputs = [_entry("logits", graph.outputs[0])]
    return made


def _entry(name: str, index: int) -> Any:
    made = schema.TensorMapT()
    made.name, made.tensorIndex = name, index
    return made
