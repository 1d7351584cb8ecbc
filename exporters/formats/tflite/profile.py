"""The parts of a .tflite file: its operators as `OpGraph`, and the time of each part on LiteRT.

LiteRT's Python interface has no operator profiler, and XNNPACK would hide the operators. So each part becomes its own
file, with that part's operators of all layers; the tensors between parts are inputs and outputs, filled from a run of
the whole file. Kernels, weights and shapes are the same; only what crosses the cuts is lost.
"""

import copy
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from exporters.formats.runners import Feed
from exporters.formats.tflite.file import TfliteFile
from exporters.formats.tflite.runner import make_interpreter
from exporters.profiling.parts import (
    CONVOLUTION,
    GHOST,
    MATMUL,
    OTHER,
    PARTS,
    SOFTMAX,
    Op,
    OpGraph,
    Plan,
    assign,
    multiply_adds_of_parts,
)
from exporters.profiling.timing import Timing, interleaved, summarize
from quantize.tflite.flatbuffer import write_model
from quantize.tflite.graph import is_constant, op_name

_KINDS = {
    "FULLY_CONNECTED": MATMUL,
    "BATCH_MATMUL": MATMUL,
    "CONV_2D": CONVOLUTION,
    "DEPTHWISE_CONV_2D": GHOST,
    "SOFTMAX": SOFTMAX,
}


def read(model: Any) -> OpGraph:
    """Tensors by number; constants that are stored once are one constant."""
    graph = model.subgraphs[0]
    stored: dict[bytes, str] = {}
    names: dict[int, Hashable] = {}
    constants: dict[Hashable, int] = {}
    for index, tensor in enumerate(graph.tensors):
        names[index] = index
        if is_constant(model, tensor):
            data = np.asarray(model.buffers[tensor.buffer].data, np.uint8).tobytes()
            names[index] = stored.setdefault(data, f"constant {len(stored)}")
            constants[names[index]] = len(data)
    return OpGraph(ops=tuple(_op(model, graph, op, names) for op in graph.operators), constants=constants)


def _op(model: Any, graph: Any, operator: Any, names: Mapping[int, Hashable]) -> Op:
    kind = _KINDS.get(op_name(model, operator), OTHER)
    inputs = [int(index) for index in operator.inputs if index >= 0]
    shapes = [_shape(graph.tensors[index]) for index in inputs]
    made = int(np.prod(_shape(graph.tensors[operator.outputs[0]]), dtype=np.int64))
    each = 0  # multiply-adds per computed number
    if op_name(model, operator) == "BATCH_MATMUL":
        each = shapes[0][-2 if operator.builtinOptions.adjX else -1]
    elif kind == MATMUL:
        each = shapes[1][-1]
    elif kind == CONVOLUTION:
        each = int(np.prod(shapes[1][1:]))
    elif kind == GHOST:
        each = int(np.prod(shapes[1][1:3]))
    return Op(
        kind=kind,
        reads=tuple(names[index] for index in inputs),
        writes=tuple(names[int(index)] for index in operator.outputs),
        factors=tuple(names[index] for index in inputs[:2]) if kind == MATMUL else (),
        weights=int(np.prod(shapes[1], dtype=np.int64)) if kind in (MATMUL, CONVOLUTION) else 0,
        multiply_adds=made * each,
    )


def _shape(tensor: Any) -> tuple[int, ...]:
    return () if tensor.shape is None else tuple(int(size) for size in tensor.shape)


def cut(model: Any, parts: list[frozenset[str]]) -> dict[str, Any]:
    """A model for each part with operators; tensors keep their numbers, which name the inputs."""
    graph = model.subgraphs[0]
    found = {}
    for part in PARTS:
        chosen = [index for index, own in enumerate(parts) if part in own]
        if not chosen:
            continue
        operators = [graph.operators[index] for index in chosen]
        others = [op for index, op in enumerate(graph.operators) if part not in parts[index]]
        written = {int(index) for op in operators for index in op.outputs}
        read_here = {int(index) for op in operators for index in op.inputs if index >= 0}
        wanted = {int(index) for op in others for index in op.inputs} | {int(index) for index in graph.outputs}
        piece, small = copy.copy(model), copy.copy(graph)
        small.operators = operators
        small.inputs = sorted(i for i in read_here - written if not is_constant(model, graph.tensors[i]))
        # A part whose results nobody reads, such as an unused look-up, must still be computed.
        small.outputs = sorted(written & wanted) or sorted(written - read_here)
        small.tensors = list(graph.tensors)
        for index in small.inputs:
            small.tensors[index] = copy.copy(graph.tensors[index])
            small.tensors[index].name = str(index)
        piece.subgraphs, piece.signatureDefs, piece.metadata = [small], None, None
        piece.buffers = _without_others(model, small)
        found[part] = piece
    return found


def _without_others(model: Any, graph: Any) -> list[Any]:
    """The buffers, emptied where no operator of the part reads them."""
    used = {graph.tensors[index].buffer for op in graph.operators for index in op.inputs if index >= 0}
    empty = type(model.buffers[0])()
    return [buffer if number in used else empty for number, buffer in enumerate(model.buffers)]


def measure(file: TfliteFile, plan: Plan, feed: Feed, rounds: int) -> tuple[Timing, dict[str, int]]:
    """One thread; each round runs the whole file, then every part. Also counts the multiply-adds of each part."""
    content, graph = file.content, read(file.model)
    parts = assign(graph, plan)
    pieces = cut(file.model, parts)
    between = _values(content, feed, {index for piece in pieces.values() for index in piece.subgraphs[0].inputs})
    runs = {"": _run(content, {name: np.asarray(row) for name, row in feed.items()})}
    for part, piece in pieces.items():
        runs[part] = _run(write_model(piece), {str(index): between[index] for index in piece.subgraphs[0].inputs})
    seconds = interleaved(runs, rounds)
    whole = seconds.pop("")
    timing = summarize(whole, {part: np.array(values)[:, None] for part, values in seconds.items()})
    return timing, multiply_adds_of_parts(graph, parts)


def _values(content: bytes, feed: Feed, wanted: set[int]) -> dict[int, np.ndarray]:
    """The values of the tensors between the parts, from a run of the whole file."""
    from ai_edge_litert.interpreter import OpResolverType

    interpreter = _interpreter(
        content,
        experimental_preserve_all_tensors=True,
        # A delegate does not expose intermediate values.
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    indices = {detail["name"]: detail["index"] for detail in interpreter.get_input_details()}
    for name, row in feed.items():
        interpreter.set_tensor(indices[name], np.asarray(row))
    interpreter.invoke()
    return {index: interpreter.get_tensor(index) for index in wanted}


def _run(content: bytes, feed: Mapping[str, np.ndarray]) -> Callable[[], Any]:
    interpreter = _interpreter(content)
    indices = {detail["name"]: detail["index"] for detail in interpreter.get_input_details()}
    for name, row in feed.items():
        interpreter.set_tensor(indices[name], row)
    invoke: Callable[[], Any] = interpreter.invoke
    return invoke


def _interpreter(content: bytes, **options: Any) -> Any:
    interpreter = make_interpreter(content, **options)
    interpreter.allocate_tensors()
    return interpreter
