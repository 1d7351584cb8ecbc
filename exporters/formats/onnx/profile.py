"""The parts of an .onnx file: its operators as `OpGraph`, and the time of each part on ONNX Runtime.

The runtime's own profiler gives the time of every kernel by node name, in whole microseconds. It times the graph after
all optimizations that a user gets: the optimized graph is saved, and parts are found in it.
"""

import json
import tempfile
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from exporters.formats.onnx.file import OnnxFile
from exporters.formats.runners import Feed
from exporters.profiling.parts import (
    CONVOLUTION,
    FUSED,
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
from exporters.profiling.timing import WARM_UP, Timing, interleaved, summarize
from quantize.onnx.session import make_session

# Products of matrices: positions of the two factors among the inputs. The others are scales, zero points and biases.
_MATMULS = {
    **dict.fromkeys(("MatMul", "Gemm", "FusedMatMul", "FusedGemm", "TransposeMatMul"), (0, 1)),
    **dict.fromkeys(("MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "MatMulNBits"), (0, 1)),
    **dict.fromkeys(("QLinearMatMul", "QGemm"), (0, 3)),
}
# Convolutions: the position of the kernel.
_CONVOLUTIONS = {**dict.fromkeys(("Conv", "FusedConv", "NhwcFusedConv", "ConvInteger"), 1), "QLinearConv": 3}
_SOFTMAX = ("Softmax", "QLinearSoftmax")
_FUSED = ("Attention", "QAttention", "MultiHeadAttention", "PackedAttention", "DecoderMaskedMultiHeadAttention")
_KERNEL_TIME = "_kernel_time"

Shapes = Mapping[str, tuple[list[tuple[int, ...]], tuple[int, ...]]]  # of inputs and of the first output, by node


def read(graph: Any, shapes: Shapes | None = None) -> OpGraph:
    """Multiply-adds are counted only with `shapes`."""
    constants: dict[Hashable, int] = {item.name: item.ByteSize() for item in graph.initializer}
    elements = {item.name: int(np.prod(item.dims, dtype=np.int64)) for item in graph.initializer}
    ops = []
    for node in graph.node:
        kind, position = _kind(node)
        each = 0
        if shapes is not None and kind in (MATMUL, CONVOLUTION, GHOST):
            inputs, output = shapes[node.name]
            across = _attribute(node, "transA", 0)
            inner = inputs[0][-2 if across else -1] if kind == MATMUL else int(np.prod(inputs[position][1:]))
            each = inner * int(np.prod(output, dtype=np.int64))
        factors = tuple(node.input[i] for i in _MATMULS[node.op_type]) if kind == MATMUL else ()
        weights = elements.get(node.input[position], 0) if kind in (MATMUL, CONVOLUTION) else 0
        ops.append(
            Op(
                kind=kind,
                reads=tuple(name for name in node.input if name),
                writes=tuple(name for name in node.output if name),
                factors=factors,
                weights=weights,
                multiply_adds=each,
            )
        )
    return OpGraph(ops=tuple(ops), constants=constants)


def _kind(node: Any) -> tuple[str, int]:
    """The kind, and the position of the weights if it has some."""
    if node.op_type in _MATMULS:
        return MATMUL, _MATMULS[node.op_type][1]
    if node.op_type in _CONVOLUTIONS:
        return GHOST if _attribute(node, "group", 1) > 1 else CONVOLUTION, _CONVOLUTIONS[node.op_type]
    if node.op_type in _SOFTMAX:
        return SOFTMAX, 0
    return FUSED if node.op_type in _FUSED else OTHER, 0


def _attribute(node: Any, name: str, default: int) -> int:
    return next((int(item.i) for item in node.attribute if item.name == name), default)


def measure(file: OnnxFile, plan: Plan, feed: Feed, rounds: int) -> tuple[Timing, dict[str, int]]:
    """One thread; each round runs the file once plain and once with the profiler. Also counts the multiply-adds of each
    part, since shapes are known only at run time.
    """
    model = onnx.ModelProto()
    model.CopyFrom(file.model)
    for number, node in enumerate(model.graph.node):
        node.name = f"node{number}"  # ours have no names, and the profiler goes by them
    named = model.SerializeToString()
    rows = {name: np.asarray(row) for name, row in feed.items()}
    with tempfile.TemporaryDirectory(prefix="export-mobile-profile-") as folder:
        counted = _multiply_adds(model.graph, named, plan, rows, folder)
        del model
        optimized = Path(folder) / "optimized.onnx"
        profiled = make_session(
            named,
            enable_profiling=True,
            profile_file_prefix=f"{folder}/profile",
            optimized_model_filepath=str(optimized),
        )
        plain = make_session(named)
        seconds = interleaved({"plain": _run(plain, rows), "profiled": _run(profiled, rows)}, rounds)
        times = _seconds(_events(profiled))
        graph = onnx.load(optimized).graph
    tables: dict[str, list[list[float]]] = {part: [] for part in PARTS}
    for node, own in zip(graph.node, assign(read(graph), plan), strict=True):
        if node.name in times:
            tables[next(part for part in PARTS if part in own)].append(times[node.name])
    found = {part: np.array(table).T for part, table in tables.items() if table}
    return summarize(seconds["plain"], found, shortest=True), counted


def _multiply_adds(
    graph: Any, content: bytes, plan: Plan, rows: Mapping[str, np.ndarray], folder: str
) -> dict[str, int]:
    """Counted in the file's own graph: an optimized one may pad channels to the width of the processor."""
    import onnxruntime

    level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = make_session(
        content, graph_optimization_level=level, enable_profiling=True, profile_file_prefix=f"{folder}/shapes"
    )
    session.run(None, rows)
    ops = read(graph, _shapes(_events(session)))
    return multiply_adds_of_parts(ops, assign(ops, plan))


def _events(session: Any) -> list[dict[str, Any]]:
    """The events of all kernels that the profiler saw."""
    events = json.loads(Path(session.end_profiling()).read_bytes())
    return [event for event in events if event["name"].endswith(_KERNEL_TIME)]


def _run(session: Any, rows: Mapping[str, np.ndarray]) -> Callable[[], Any]:
    return lambda: session.run(None, rows)


def _seconds(events: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Seconds of each node in each run that counts."""
    found: dict[str, list[float]] = {}
    for event in events:
        found.setdefault(event["name"].removesuffix(_KERNEL_TIME), []).append(event["dur"] / 1e6)
    return {name: times[WARM_UP:] for name, times in found.items()}


def _shapes(events: list[dict[str, Any]]) -> Shapes:
    found = {}
    for event in events:
        inputs, outputs = (
            [tuple(next(iter(entry.values()))) for entry in event["args"][side]]
            for side in ("input_type_shape", "output_type_shape")
        )
        found[event["name"].removesuffix(_KERNEL_TIME)] = (inputs, outputs[0] if outputs else ())
    return found
