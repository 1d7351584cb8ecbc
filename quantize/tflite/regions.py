"""Which operators of a .tflite graph stay in float in static int8: norms, GELUs, softmaxes, ghosts, ranks of tokens.

A layer norm is a chain of element-wise operators over sums of squares, whose ranges differ by orders of magnitude
between tokens: rounded to eight bits at every step it loses more than all other operators of an encoder together. A
GELU in int8 fixes one scale for all channels on both sides, though channels of a wide layer differ as much. Both cost
next to nothing beside the products around them, which stay in int8. A softmax in int8 would lose little, but XNNPACK
has no kernel for it: each one would cut the graph in two, and between the pieces everything is copied. In float it is
taken, with the sum with the mask in front of it. A depthwise convolution (ghosts) sums over groups of channels, which
differ as much, of an image that would have one scale; in float each group keeps the scale that it comes with. Why
tokens are ranked in float: `significance.py`. Positions are looked up where a graph takes any length; their table is
small, and stays in float beside a layer norm. Regions are found by what the operators are, never by a name, so that the
quantizer and the audit agree on any file.
"""

from quantize import significance
from quantize.regions import grow
from quantize.tflite.graph import (
    INTEGERS,
    Graph,
    Model,
    Operator,
    is_constant,
    looks_up_positions,
    op_name,
    readers,
    schema,
    tensors_of,
)
from quantize.tflite.operators import DEPTHWISE, JOIN, RANKING, REGION_MOVES, REGION_NEIGHBORS, REGION_SEEDS


def float_region(model: Model, graph: Graph) -> set[int]:
    """Positions of the operators that compute in float: those that rank tokens, seeds with all neighbors and moves that
    are connected with them, and casts of whole numbers for them.

    In a float graph that is what shall stay in float, in a quantized one what may be: operators whose results are not
    float32 belong to no region.
    """
    images = _images(model, graph)
    candidates: set[int] = set()
    made: set[int] = set()
    made_by_images: set[int] = set()
    for position, operator in enumerate(graph.operators):
        name = op_name(model, operator)
        # What is moved into a region from outside (a mask that many regions read) is not part of it.
        fits = name in (*REGION_SEEDS, *REGION_NEIGHBORS) or (name in REGION_MOVES and operator.inputs[0] in made)
        fits = fits or position in images or (name == JOIN and made_by_images.issuperset(operator.inputs))
        if fits and all(graph.tensors[i].type == schema.TensorType.FLOAT32 for i in operator.outputs):
            candidates.add(position)
            made.update(operator.outputs)
            if name in (DEPTHWISE, JOIN) or (name in REGION_MOVES and operator.inputs[0] in made_by_images):
                made_by_images.update(operator.outputs)
    # Two operators that read the same tensor are not connected by that, unless a candidate made it.
    tensors = {position: made.intersection(tensors_of(graph.operators[position])) for position in candidates}
    seeds = {position for position in candidates if op_name(model, graph.operators[position]) in REGION_SEEDS}
    region = grow(seeds, tensors) | ranking_region(model, graph)
    return region | _casts(model, graph, region) | _positions(model, graph, region)


def _images(model: Model, graph: Graph) -> set[int]:
    """What puts together the images that depthwise convolutions read."""
    read: set[int] = set()
    found: set[int] = set()
    for position in reversed(range(len(graph.operators))):
        operator = graph.operators[position]
        name = op_name(model, operator)
        if name == DEPTHWISE:
            read.add(operator.inputs[0])
        elif name in (JOIN, "PAD", "RESHAPE") and read.issuperset(operator.outputs):
            found.add(position)
            read.update(operator.inputs if name == JOIN else operator.inputs[:1])
    return found


def ranking_region(model: Model, graph: Graph) -> set[int]:
    """The operators of them that rank tokens: all that stays in float where everything else is int8."""
    return significance.ranking([_step(model, graph, operator) for operator in graph.operators])


def _casts(model: Model, graph: Graph, region: set[int]) -> set[int]:
    """Casts of whole numbers, which are exact, that a region reads, and what brings them to int8: those of the mask."""
    inside = {id(graph.operators[position]) for position in region}
    read_by = readers(graph)
    found: set[int] = set()
    for position, operator in enumerate(graph.operators):
        if op_name(model, operator) != "CAST":
            continue
        source, target = operator.inputs[0], operator.outputs[0]
        by = read_by.get(target, [])
        fits = graph.tensors[target].type == schema.TensorType.FLOAT32 and graph.tensors[source].type in INTEGERS
        inner = [id(reader) in inside for reader in by]
        if fits and any(inner) and all(i or op_name(model, r) == "QUANTIZE" for i, r in zip(inner, by, strict=True)):
            found.add(position)
    return found


def _positions(model: Model, graph: Graph, region: set[int]) -> set[int]:
    """Look-ups of positions that a region alone reads."""
    inside = {id(graph.operators[position]) for position in region}
    read_by = readers(graph)
    return {
        position
        for position, operator in enumerate(graph.operators)
        if looks_up_positions(model, graph, operator)
        and all(id(reader) in inside for reader in read_by.get(operator.outputs[0], ()))
    }


def _step(model: Model, graph: Graph, operator: Operator) -> significance.Step:
    kind = RANKING.get(op_name(model, operator), significance.OTHER)
    if graph.tensors[operator.outputs[0]].type != schema.TensorType.FLOAT32:
        kind = significance.OTHER
    reads = [i for i in operator.inputs if i >= 0 and not is_constant(model, graph.tensors[i])]
    if kind in (significance.MOVE, significance.TOP):
        reads = [i for i in reads if i == operator.inputs[0]]
    return significance.Step(kind=kind, reads=tuple(reads), writes=tuple(operator.outputs))
