"""Pass: a dense layer whose result is split into parts of different range becomes one dense layer for each part.

The float arithmetic is the same, row by row of the weights; why: `split_parts.py`. Requires a float graph and its
calibrated ranges. Then each FULLY_CONNECTED without activation whose only reader is a SPLIT or SPLIT_V along the last
axis, with parts whose ranges differ, is gone; the tensors of the parts keep their names, so that their ranges hold.
Layers that read the same weights are split together, as soon as one of them asks for it, and read the same parts.
"""

import copy

import numpy as np

from quantize import split_parts
from quantize.ranges import CalibrationRanges
from quantize.rewrite import rewrite
from quantize.tflite.conditions import in_float, in_order
from quantize.tflite.graph import (
    Graph,
    Model,
    Operator,
    add_constant,
    buffer_bytes,
    float_values,
    is_constant,
    op_name,
    readers,
    shape,
    tensor_name,
)
from quantize.tflite.operators import DENSE, SPLITS

# Constants that were cut: (that which was cut, first row, row behind the last) -> the part.
Cuts = dict[tuple[int, int, int], int]


@rewrite(requires=(in_float,), ensures=(in_float, in_order))
def split_dense(model: Model, ranges: CalibrationRanges) -> int:
    """Edits the first subgraph in place; returns how many layers were split."""
    graph = model.subgraphs[0]
    read_by = readers(graph)
    uses: dict[int, list[Operator]] = {}
    for operator in graph.operators:
        if op_name(model, operator) == DENSE:
            uses.setdefault(operator.inputs[1], []).append(operator)
    gone: set[int] = set()
    parts: dict[int, list[Operator]] = {}
    cuts: Cuts = {}
    for layers in uses.values():
        splits = [_split(model, graph, dense, read_by) for dense in layers]
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


def _split(model: Model, graph: Graph, dense: Operator, read_by: dict[int, list[Operator]]) -> Operator | None:
    """The operator that splits what a dense layer makes, if nobody else reads it; None where it cannot be split."""
    result = dense.outputs[0]
    found = read_by.get(result, [])
    if dense.builtinOptions.fusedActivationFunction or len(found) != 1 or result in graph.outputs:
        return None
    if not all(is_constant(model, graph.tensors[i]) for i in dense.inputs[1:] if i >= 0):
        return None
    return found[0] if _axis(model, graph, found[0]) == len(shape(graph.tensors[result])) - 1 else None


def _axis(model: Model, graph: Graph, split: Operator) -> int | None:
    """Along which axis an operator splits; None for other operators."""
    name = op_name(model, split)
    if name not in SPLITS:
        return None
    axis, values = (split.inputs[0], split.inputs[1]) if name == "SPLIT" else (split.inputs[2], split.inputs[0])
    data = buffer_bytes(model, graph.tensors[axis])
    return None if data is None else int(np.frombuffer(data, np.int32)[0]) % len(shape(graph.tensors[values]))


def _differ(graph: Graph, split: Operator, ranges: CalibrationRanges) -> bool:
    return split_parts.differ(ranges.ranges[tensor_name(graph.tensors[index])] for index in split.outputs)


def _parts(model: Model, graph: Graph, dense: Operator, split: Operator, cuts: Cuts) -> list[Operator]:
    """One dense layer for each output of the split, on consecutive rows of the weights."""
    made, start = [], 0
    for index in split.outputs:
        end = start + shape(graph.tensors[index])[-1]
        part = copy.copy(dense)
        part.inputs = [dense.inputs[0]]
        for source in dense.inputs[1:]:
            if source >= 0 and (source, start, end) not in cuts:
                cuts[source, start, end] = _rows(model, graph, source, start, end)
            part.inputs.append(cuts[source, start, end] if source >= 0 else -1)
        part.outputs = [index]
        made.append(part)
        start = end
    rows = shape(graph.tensors[dense.inputs[1]])[0]
    if start != rows:
        raise ValueError(f"The parts of a split must fill its input. Received: {start} of {rows}.")
    return made


def _rows(model: Model, graph: Graph, index: int, start: int, end: int) -> int:
    """A new constant with these rows of another one."""
    source = graph.tensors[index]
    return add_constant(model, graph, float_values(model, source)[start:end], f"{tensor_name(source)}/{start}:{end}")
