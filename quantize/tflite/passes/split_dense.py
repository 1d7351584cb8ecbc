"""Pass: a dense layer whose result is split into parts of different range becomes one dense layer for each part.

The parts of a split share one scale, that of the widest: a part with a quarter of its range is left with a quarter of the
steps. The float arithmetic is the same, row by row of the weights.
Requires: a float graph and its calibrated ranges. Ensures: each FULLY_CONNECTED without activation whose only reader is a
SPLIT or SPLIT_V along the last axis, with parts whose ranges differ by more than `RATIO`, is gone; the tensors of the
parts keep their names, so that their ranges hold. Layers that read the same weights are split together, as soon as one of
them asks for it, and read the same parts.
"""

import copy
from typing import Any

import numpy as np

from quantize.ranges import CalibrationRanges
from quantize.tflite.flatbuffer import Model, buffer_bytes, is_constant, op_name, schema, tensor_name
from quantize.tflite.operators import DENSE, SPLITS

# Widest to narrowest part. Below it one fused layer costs less than half a bit and saves two reads of the input.
RATIO = 1.25
# Constants that were cut: (that which was cut, first row, row behind the last) -> the part.
Cuts = dict[tuple[int, int, int], int]


def split_dense(model: Model, ranges: CalibrationRanges) -> int:
    """Edits the first subgraph in place; the number of layers that were split."""
    graph = model.subgraphs[0]
    readers: dict[int, list[Any]] = {}
    for operator in graph.operators:
        for index in operator.inputs:
            readers.setdefault(int(index), []).append(operator)
    uses: dict[int, list[Any]] = {}
    for operator in graph.operators:
        if op_name(model, operator) == DENSE:
            uses.setdefault(int(operator.inputs[1]), []).append(operator)
    gone: set[int] = set()
    parts: dict[int, list[Any]] = {}
    cuts: Cuts = {}
    for layers in uses.values():
        splits = [_split(model, graph, dense, readers) for dense in layers]
        found = [split for split in splits if split is not None]
        if len(found) < len(layers) or not any(_differ(graph, split, ranges) for split in found):
            continue
        for dense, split in zip(layers, found, strict=True):
            parts[id(split)] = _parts(model, graph, dense, split, cuts)
            gone |= {id(dense), id(split)}
    graph.operators = [
        made for operator in graph.operators for made in parts.get(id(operator), [operator]) if id(made) not in gone
    ]
    return len(parts)


def _split(model: Model, graph: Any, dense: Any, readers: dict[int, list[Any]]) -> Any:
    """The operator that splits what a dense layer makes, if nobody else reads it; None where the layer cannot be split."""
    result = int(dense.outputs[0])
    found = readers.get(result, [])
    if dense.builtinOptions.fusedActivationFunction or len(found) != 1 or result in {int(i) for i in graph.outputs}:
        return None
    if not all(is_constant(model, graph.tensors[int(i)]) for i in dense.inputs[1:] if i >= 0):
        return None
    return found[0] if _axis(model, graph, found[0]) == len(graph.tensors[result].shape) - 1 else None


def _axis(model: Model, graph: Any, split: Any) -> int | None:
    """Along which axis an operator splits; None for other operators."""
    name = op_name(model, split)
    if name not in SPLITS:
        return None
    axis, values = (split.inputs[0], split.inputs[1]) if name == "SPLIT" else (split.inputs[2], split.inputs[0])
    data = buffer_bytes(model, graph.tensors[int(axis)])
    if data is None:
        return None
    return int(np.frombuffer(data, np.int32)[0]) % len(graph.tensors[int(values)].shape)


def _differ(graph: Any, split: Any, ranges: CalibrationRanges) -> bool:
    widths = []
    for index in split.outputs:
        low, high = ranges.ranges[tensor_name(graph.tensors[int(index)])]
        widths.append(max(high, 0.0) - min(low, 0.0))
    return max(widths) > RATIO * min(widths)


def _parts(model: Model, graph: Any, dense: Any, split: Any, cuts: Cuts) -> list[Any]:
    """One dense layer for each output of the split, on consecutive rows of the weights."""
    made, start = [], 0
    weights = graph.tensors[int(dense.inputs[1])]
    for index in split.outputs:
        end = start + int(graph.tensors[int(index)].shape[-1])
        part = copy.copy(dense)
        part.inputs = [int(dense.inputs[0])]
        for source in (int(i) for i in dense.inputs[1:]):
            if source >= 0 and (source, start, end) not in cuts:
                cuts[source, start, end] = _rows(model, graph, source, start, end)
            part.inputs.append(cuts[source, start, end] if source >= 0 else -1)
        part.outputs = [int(index)]
        made.append(part)
        start = end
    if start != int(weights.shape[0]):
        raise ValueError(f"The parts of a split must fill its input. Received: {start} of {int(weights.shape[0])}.")
    return made


def _rows(model: Model, graph: Any, index: int, start: int, end: int) -> int:
    """A new constant with these rows of another one."""
    source = graph.tensors[index]
    shape = [int(size) for size in source.shape]
    values = np.frombuffer(buffer_bytes(model, source) or b"", np.float32).reshape(shape)[start:end]
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
    model.buffers.append(buffer)
    tensor = copy.copy(source)
    tensor.shape = np.array(values.shape, np.int32)
    tensor.shapeSignature = None
    tensor.name = f"{tensor_name(source)}/{start}:{end}"
    tensor.buffer = len(model.buffers) - 1
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1
