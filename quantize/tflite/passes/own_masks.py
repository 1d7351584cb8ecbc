"""Pass: a sum of scores and a mask that is far larger than they need gets a smaller mask of its own.

All layers read one mask, chosen for the largest scores of the model. Where those of one layer are a million times those
of another, the int8 sum of the latter would have steps of the former's size, and LiteRT aborts on such a sum
(`scale_limits.py`). The mask of a layer needs to move every score out of the range of its softmax, not further: a
product with another constant makes it, and padding still gets no weight.

Requires a float graph and ranges in which masked scores are saturated (`ranges.py`). Where all layers have scores of
similar size nothing changes.
"""

import copy
import dataclasses

import numpy as np

from quantize.ranges import CalibrationRanges
from quantize.rewrite import rewrite
from quantize.tflite.conditions import in_float, in_order
from quantize.tflite.graph import (
    Graph,
    Model,
    Operator,
    add_constant,
    add_tensor,
    float_values,
    is_constant,
    op_name,
    producers,
    schema,
    tensor_name,
)
from quantize.tflite.operators import MOVES

# Widest range of a mask over that of the scores. The sum has 20 bits for the smaller operand, 8 of which it needs.
MOST = 2.0**8


@rewrite(requires=(in_float,), ensures=(in_float, in_order))
def own_masks(model: Model, ranges: CalibrationRanges) -> CalibrationRanges:
    """Edits the first subgraph in place; returns the ranges with those of the new masks."""
    graph = model.subgraphs[0]
    made_by, found = producers(graph), dict[str, tuple[float, float]]()
    front: dict[int, list[Operator]] = {}
    for softmax in graph.operators:
        add = made_by.get(softmax.inputs[0])
        if op_name(model, softmax) != "SOFTMAX" or add is None or op_name(model, add) != "ADD":
            continue
        low, high = ranges.ranges.get(tensor_name(graph.tensors[add.outputs[0]]), (0.0, 0.0))
        for position, mask in enumerate(add.inputs):
            chain = _chain(model, graph, made_by, mask)
            wide = ranges.ranges.get(tensor_name(graph.tensors[mask]), (0.0, 0.0))[0]
            if chain is None or low >= high or wide >= MOST * (low - high):
                continue
            made = _copy(model, graph, chain, low - high)
            found |= {tensor_name(graph.tensors[operator.outputs[0]]): (low - high, 0.0) for operator in made}
            front[id(add)] = made
            inputs = list(add.inputs)
            inputs[position] = made[-1].outputs[0]
            add.inputs = inputs
            break
    graph.operators = [made for operator in graph.operators for made in (*front.get(id(operator), ()), operator)]
    return dataclasses.replace(ranges, ranges={**ranges.ranges, **found})


def _chain(model: Model, graph: Graph, made_by: dict[int, Operator], index: int) -> list[Operator] | None:
    """The product with one negative number that makes a mask, and the moves behind it; None for anything else."""
    chain: list[Operator] = []
    while (maker := made_by.get(index)) is not None:
        chain.insert(0, maker)
        name = op_name(model, maker)
        if name == "MUL":
            factors = [graph.tensors[i] for i in maker.inputs if is_constant(model, graph.tensors[i])]
            values = float_values(model, factors[0]) if len(factors) == 1 else np.zeros(0)
            return chain if values.size == 1 and values.item() < 0 else None
        if name not in MOVES:
            return None
        index = maker.inputs[0]
    return None


def _copy(model: Model, graph: Graph, chain: list[Operator], factor: float) -> list[Operator]:
    """The same operators with another factor and results of their own."""
    made: list[Operator] = []
    for operator in chain:
        new = copy.copy(operator)
        if made:
            new.inputs = [made[-1].outputs[0], *operator.inputs[1:]]
        else:
            constant = add_constant(model, graph, np.array(factor, np.float32), f"mask:{len(graph.tensors)}")
            new.inputs = [constant if is_constant(model, graph.tensors[i]) else i for i in operator.inputs]
        like, name = graph.tensors[operator.outputs[0]], f"mask:{len(graph.tensors)}"
        new.outputs = [add_tensor(graph, like, schema.TensorType.FLOAT32, name)]
        made.append(new)
    return made
