"""Which parts of an ONNX graph stay in float in static int8: those around operators without an integer kernel.

Around a layer norm, a GELU or a softmax are element-wise operators (sums with a skip path or a mask, factors of
channels) that ONNX Runtime can compute in integers. To round between them costs accuracy and time and saves nothing, so
the whole neighborhood stays in float, also where something between them only moves values. What ranks tokens stays in
float too (`significance.py`), and so does the picking of rows that such operators made.
Ghosts do as well: a convolution of groups of channels is faster in float, and what concatenates its image would give
all groups one scale.
"""

from collections.abc import Iterable

import onnx

from quantize import significance
from quantize.onnx.operators import LOOKUP, MOVES, RANKING, REGION_NEIGHBORS, SLOW_KERNEL, WITHOUT_KERNEL, is_grouped
from quantize.regions import grow


def float_region(nodes: Iterable[onnx.NodeProto]) -> set[int]:
    """Positions of the nodes without integer kernel and of the element-wise ones that are connected with them, of those
    that rank tokens, and of what picks rows of their results.
    """
    listed = list(nodes)
    region = _unkerneled(listed) | _ranking(listed)
    made = {name for i in region for name in listed[i].output}
    for i, node in enumerate(listed):
        if node.op_type in (LOOKUP, *MOVES) and node.input[0] in made:
            made.update(node.output)
            if node.op_type == LOOKUP:
                region.add(i)
    return region


def _ranking(listed: list[onnx.NodeProto]) -> set[int]:
    """Moves are left out: they follow what they move."""
    produced = {name for node in listed for name in node.output}
    steps = []
    for node in listed:
        kind = RANKING.get(node.op_type, significance.OTHER)
        inputs = node.input[:1] if kind in (significance.MOVE, significance.TOP) else node.input
        reads = tuple(name for name in inputs if name in produced)
        steps.append(significance.Step(kind=kind, reads=reads, writes=tuple(node.output)))
    return {i for i in significance.ranking(steps) if listed[i].op_type not in MOVES}


def _unkerneled(listed: list[onnx.NodeProto]) -> set[int]:
    # Names of tensors that hold another one's values -> the name of that one.
    moved: dict[str, str] = {}
    for node in listed:
        if node.op_type in MOVES:
            moved[node.output[0]] = moved.get(node.input[0], node.input[0])
    seeds = {i for i, node in enumerate(listed) if node.op_type in (*WITHOUT_KERNEL, *SLOW_KERNEL)}
    seeds |= _grouped(listed, moved)
    candidates = seeds | {i for i, node in enumerate(listed) if node.op_type in REGION_NEIGHBORS}
    # Two nodes that read the same tensor are not connected by that, nor by a shared constant.
    made = {name for i in candidates for name in listed[i].output}
    around = {
        i: made.intersection(moved.get(name, name) for name in (*listed[i].input, *listed[i].output))
        for i in candidates
    }
    return grow(seeds, around)


def _grouped(listed: list[onnx.NodeProto], moved: dict[str, str]) -> set[int]:
    """Convolutions of groups (ghosts), what concatenates the images they read, and their Relu and Concat.

    Rounded before the Concat, all parts would have one scale, though groups differ as much as channels do.
    """
    convolutions = {i for i, node in enumerate(listed) if is_grouped(node)}
    found = set(convolutions)
    read = {moved.get(listed[i].input[0], listed[i].input[0]) for i in convolutions}
    for i in reversed(range(len(listed))):
        if listed[i].op_type == "Concat" and listed[i].output[0] in read:
            found.add(i)
            read.update(moved.get(name, name) for name in listed[i].input)
    made = {listed[i].output[0] for i in convolutions}
    for i, node in enumerate(listed):
        if node.op_type in ("Concat", "Relu") and made.issuperset(moved.get(name, name) for name in node.input):
            found.add(i)
            made.add(node.output[0])
    return found
