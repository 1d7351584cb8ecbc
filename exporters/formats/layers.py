"""Bytes of a file by layer, in the order of execution.

Files of ours have no names inside: a layer is an operator with weights.
A constant belongs to the first operator that reads it. Biases, factors and tables that other operators read belong to
the layer before them; what comes before the first layer is the embedding. The graph itself (operators, shapes, scales)
is the rest of the file.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

from exporters.profiling.parts import CONVOLUTION, GHOST, MATMUL, OpGraph

EMBEDDING, GRAPH = "embedding", "graph"
_KINDS = {MATMUL: "dense", CONVOLUTION: "convolution", GHOST: "depthwise convolution"}


@dataclass(frozen=True, kw_only=True)
class LayerBytes:
    """`name` is the kind of the operator and its number in the file."""

    name: str
    bytes: int


def layers(graph: OpGraph, size_bytes: int) -> tuple[LayerBytes, ...]:
    """All layers of a file of `size_bytes`; they add up to it."""
    owned: set[Hashable] = set()
    carried: dict[Hashable, frozenset[Hashable]] = {name: frozenset([name]) for name in graph.constants}
    kinds, sizes = [EMBEDDING], [0]
    for op in graph.ops:
        if op.reads and all(key in carried for key in op.reads):  # such as a dequantization of weights
            whole = frozenset().union(*(carried[key] for key in op.reads))
            carried |= dict.fromkeys(op.writes, whole)
            continue
        new = {name for key in op.reads for name in carried.get(key, ())} - owned
        owned |= new
        weighted = op.kind in _KINDS and any(name in new for key in op.reads[1:] for name in carried.get(key, ()))
        if weighted and (op.kind != MATMUL or any(key in carried for key in op.factors)):
            kinds.append(_KINDS[op.kind])
            sizes.append(0)
        sizes[-1] += sum(graph.constants[name] for name in new)
    numbers: Counter[str] = Counter()
    made = []
    for kind, size in zip(kinds, sizes, strict=True):
        numbers[kind] += 1
        name = kind if kind == EMBEDDING else f"{kind} {numbers[kind]}"
        if size:
            made.append(LayerBytes(name=name, bytes=size))
    rest = size_bytes - sum(layer.bytes for layer in made)
    return (*made, LayerBytes(name=GRAPH, bytes=rest))
