"""Ranges that calibration cannot know or should not decide, for .tflite graphs: masks, masked attention scores, and
operands from which the fast kernels of a runtime ask for a zero point of 0.

Rows without padding would leave a range in which padding does not differ from tokens, so what comes from a mask is
computed instead: an integer input that is cast to float is taken as exact whole numbers, and the sums and products with
constants behind a cast of 0/1 follow from them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from quantize.attention_scores import Interval, hides_padding, masked_range
from quantize.errors import RecipeError
from quantize.ranges import CalibrationRanges
from quantize.tflite.graph import (
    INTEGERS,
    Graph,
    Model,
    Operator,
    float_values,
    is_constant,
    op_name,
    producers,
    schema,
    shape,
    tensor_name,
)
from quantize.tflite.operators import ARITHMETIC, MOVES, PRODUCT, SPLITS

INT8_RANGE = (-128.0, 127.0)
_PROBABILITIES = (0.0, 1.0)


def with_exact_masks(model: Model, ranges: CalibrationRanges) -> CalibrationRanges:
    """Casts of integer inputs get the range [-128, 127], which is scale 1 and zero point 0."""
    graph = model.subgraphs[0]
    changes: dict[int, tuple[float, float]] = {}
    masks: dict[int, Interval] = {}
    for operator in graph.operators:
        name = op_name(model, operator)
        source = operator.inputs[0]
        if name == "CAST" and graph.tensors[source].type in INTEGERS and source in graph.inputs:
            target = operator.outputs[0]
            low, high = ranges.ranges[tensor_name(graph.tensors[target])]
            if low < INT8_RANGE[0] or high > INT8_RANGE[1]:
                raise RecipeError(
                    f"Recipe int8 needs values of input {tensor_name(graph.tensors[source])!r} from -128 to 127. "
                    f"Received: {low:g} to {high:g}."
                )
            changes[target] = INT8_RANGE
            if graph.tensors[source].type == schema.TensorType.INT32 and 0 <= low <= high <= 1:
                masks[target] = Interval()
        elif name in (*MOVES, *ARITHMETIC):
            found = _follow(model, graph, operator, name, masks)
            if found is not None:
                masks[operator.outputs[0]] = found
                changes[operator.outputs[0]] = (found.low, found.high)
    return ranges.override({tensor_name(graph.tensors[index]): value for index, value in changes.items()})


def _follow(model: Model, graph: Graph, operator: Operator, name: str, masks: dict[int, Interval]) -> Interval | None:
    """What an operator makes of a mask; None when it reads something else as well."""
    inputs = operator.inputs
    if name in MOVES:
        return masks.get(inputs[0])
    position = next((i for i, index in enumerate(inputs) if index in masks), None)
    if position is None or operator.builtinOptions.fusedActivationFunction:
        return None
    other = graph.tensors[inputs[1 - position]]
    if not is_constant(model, other):
        return None
    values = float_values(model, other)
    if values.size != 1:
        return None
    return masks[inputs[position]].after(ARITHMETIC[name], float(values.item()), constant_first=position == 1)


def with_probabilities(model: Model, ranges: CalibrationRanges) -> CalibrationRanges:
    """Attention weights, and the rows of them that are picked, are 0 to 1: a short text may pay one token all of it.

    The kernel of SOFTMAX in int8 has that range itself; this is for one in float, whose rows are quantized behind it.
    """
    graph = model.subgraphs[0]
    found: set[int] = set()
    for operator in graph.operators:
        name = op_name(model, operator)
        if name == "SOFTMAX" or (name in MOVES and operator.inputs[0] in found):
            found.add(operator.outputs[0])
    names = {tensor_name(graph.tensors[index]) for index in found}
    return ranges.override(dict.fromkeys(names & set(ranges.ranges), _PROBABILITIES))


def with_symmetric_operands(model: Model, ranges: CalibrationRanges) -> CalibrationRanges:
    """The second operand of a product of activations (keys, values) gets zero point 0.

    XNNPACK takes an int8 BATCH_MATMUL only then. It costs little, since these operands lie about zero. What the operand
    is moved or cut from has the same scale, so it gets the range too.
    """
    graph = model.subgraphs[0]
    made_by = producers(graph)
    changes: dict[str, tuple[float, float]] = {}
    for product in graph.operators:
        if op_name(model, product) != PRODUCT:
            continue
        found = _sources(model, graph, made_by, product.inputs[1])
        names = [tensor_name(graph.tensors[index]) for index in found]
        known = [ranges.ranges[name] for name in names if name in ranges.ranges]
        if known:
            changes |= dict.fromkeys(names, symmetric_range(known))
    return ranges.override({name: value for name, value in changes.items() if name in ranges.ranges})


def symmetric_range(known: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The smallest range that holds these and puts zero on zero point 0."""
    low, high = INT8_RANGE
    step = max(max(found[0] / low, found[1] / high) for found in known)
    return low * step, high * step


def _sources(model: Model, graph: Graph, made_by: Mapping[int, Operator], index: int) -> list[int]:
    """A tensor and all that it is moved or cut from."""
    found = [index]
    while (maker := made_by.get(index)) is not None and op_name(model, maker) in (*MOVES, *SPLITS):
        # The axis stands in front of what a SPLIT cuts.
        index = maker.inputs[1 if op_name(model, maker) == "SPLIT" else 0]
        if is_constant(model, graph.tensors[index]):
            break
        found.append(index)
    return found


def with_saturated_scores(model: Model, ranges: CalibrationRanges) -> CalibrationRanges:
    """A SOFTMAX that reads an ADD gets the range of `masked_range`, and so do the scores that the ADD reads.

    The bias that the ADD reads ends where every score is out of that range: int8 kernels lose precision when the scales
    of the two operands are far apart.
    """
    graph = model.subgraphs[0]
    made_by = producers(graph)
    readers = Counter(index for operator in graph.operators for index in operator.inputs)
    changes: dict[str, tuple[float, float]] = {}
    lowest: dict[int, float] = {}

    def name_of(index: int) -> str:
        return tensor_name(graph.tensors[index])

    for softmax in graph.operators:
        masked = softmax.inputs[0]
        add = made_by.get(masked)
        if op_name(model, softmax) != "SOFTMAX" or add is None or op_name(model, add) != "ADD":
            continue
        sizes = shape(graph.tensors[masked])
        operands = add.inputs
        scores = [i for i in operands if shape(graph.tensors[i]) == sizes and readers[i] == 1]
        if len(scores) != 1 or name_of(masked) not in ranges.row_peaks or name_of(scores[0]) not in ranges.ranges:
            continue
        bias = operands[1 - operands.index(scores[0])]
        added = ranges.ranges.get(name_of(bias), (0.0, 0.0))[0]
        found = masked_range(ranges.ranges[name_of(masked)], ranges.row_peaks[name_of(masked)], sizes[-1], added)
        changes[name_of(masked)] = found
        if hides_padding(added, found):
            changes[name_of(scores[0])] = found
            lowest[bias] = min(lowest.get(bias, 0.0), found[0] - found[1])
    for index, low in lowest.items():
        while name_of(index) in ranges.ranges:
            changes[name_of(index)] = (low, ranges.ranges[name_of(index)][1])
            if index not in made_by or op_name(model, made_by[index]) not in MOVES:
                break
            index = made_by[index].inputs[0]  # noqa: PLW2901 - walks back over moves
    return ranges.override(changes)
