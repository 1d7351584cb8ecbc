"""Counts the parts of a file: bytes by kind and layer, what is quantized and how, what is left in float, what is there
twice. The same for every format.
"""

import re
from collections import Counter
from collections.abc import Sequence

from exporters.anatomy import parts as values
from exporters.anatomy.parts import Constant, Parts
from exporters.anatomy.result import Duplicate, GraphOps, InFloat, Kind, QuantizedWeights

# Fewer bytes than this are shapes and other settings of operators: not worth a line.
SMALLEST_DUPLICATE = 64
_MOST_NAMES = 5
_NEVER = 1 << 60
_NOT_ROUNDED = ("float32", "float64")


def stored(constants: Sequence[Constant]) -> list[Constant]:
    """Each place in the file once; of several tensors there, the one that is weights."""
    found: dict[object, Constant] = {}
    for constant in constants:
        known = found.get(constant.place)
        if known is None or (constant.role == values.WEIGHTS and known.role != values.WEIGHTS):
            found[constant.place] = constant
    return list(found.values())


def kinds(constants: Sequence[Constant]) -> tuple[Kind, ...]:
    """The largest first."""
    found = {}
    for dtype in dict.fromkeys(each.dtype for each in constants):
        own = [each for each in constants if each.dtype == dtype]
        weights = sum(each.size_bytes for each in own if each.role == values.WEIGHTS)
        size = sum(each.size_bytes for each in own)
        found[dtype] = Kind(dtype=dtype, count=len(own), size_bytes=size, weight_bytes=weights)
    return tuple(sorted(found.values(), key=lambda kind: -kind.size_bytes))


def weights(constants: Sequence[Constant]) -> dict[str, int]:
    """Bytes of the weights by type, the largest first."""
    found = Counter[str]()
    for each in constants:
        if each.role == values.WEIGHTS:
            found[each.dtype] += each.size_bytes
    return dict(found.most_common())


def quantized_share(by_type: dict[str, int]) -> float | None:
    total = sum(by_type.values())
    whole = sum(size for dtype, size in by_type.items() if dtype not in values.FLOATS)
    return whole / total if total else None


def scheme(parts: Parts, by_type: dict[str, int]) -> str:
    """In words: the types of the weights, and how activations are computed."""
    if parts.activations == values.FLOAT:
        return f"{' and '.join(by_type)} weights, not quantized" if by_type else "no weights"
    quantized = [dtype for dtype in by_type if dtype not in values.FLOATS]
    named = f"{' and '.join(quantized)} weights" if quantized else "no quantized weights"
    how = {
        values.STATIC: f"{parts.activation_type or 'integer'} activations (static)",
        values.DYNAMIC: "activations quantized while running (dynamic)",
        values.WEIGHTS_ONLY: "float activations (weights only)",
    }[parts.activations]
    return f"{named}, {how}"


def quantized(constants: Sequence[Constant]) -> tuple[QuantizedWeights, ...]:
    groups: dict[tuple[str, str, bool], list[Constant]] = {}
    for each in constants:
        if each.role == values.WEIGHTS and each.scales is not None:
            groups.setdefault((each.dtype, each.scales.granularity, each.scales.symmetric), []).append(each)
    found = []
    for (dtype, granularity, symmetric), own in groups.items():
        scales = [each.scales for each in own if each.scales is not None]
        found.append(
            QuantizedWeights(
                dtype=dtype,
                granularity=granularity,
                symmetric=symmetric,
                count=len(own),
                lowest_zero_point=min(each.lowest_zero_point for each in scales),
                highest_zero_point=max(each.highest_zero_point for each in scales),
                names=() if symmetric else tuple(_called(each) for each in own[:_MOST_NAMES]),
            )
        )
    return tuple(sorted(found, key=lambda each: -each.count))


def _called(constant: Constant) -> str:
    """Its name; without one, what reads it."""
    return constant.name or f"read by {constant.readers[0] if constant.readers else 'nothing'}"


def operators(parts: Parts) -> tuple[GraphOps, ...]:
    return tuple(
        GraphOps(name=graph.name, operators=dict(Counter(each.name for each in graph.operators).most_common()))
        for graph in parts.graphs
    )


def float_operators(parts: Parts) -> tuple[InFloat, ...]:
    """Of all graphs, by kind and reason."""
    found = Counter((each.name, each.reason) for graph in parts.graphs for each in graph.operators if each.in_float)
    return tuple(InFloat(operator=name, reason=reason, count=n) for (name, reason), n in found.most_common())


def float_weights(parts: Parts, constants: Sequence[Constant]) -> tuple[InFloat, ...]:
    """Weights in float32 where others are quantized, by the operator that reads them."""
    if parts.activations == values.FLOAT:
        return ()
    found: dict[tuple[str, str], list[int]] = {}
    first, static = parts.graphs[0].operators if parts.graphs else (), parts.activations == values.STATIC
    for each in constants:
        if each.role == values.WEIGHTS and each.dtype in _NOT_ROUNDED:
            reader = each.readers[0] if each.readers else "nothing"
            reasons = {first[user].reason for user in each.users if static and first[user].in_float}
            reason = each.reason or (reasons.pop() if len(reasons) == 1 else "")
            found.setdefault((reader, reason), []).append(each.size_bytes)
    rows = [
        InFloat(operator=reader, reason=reason, count=len(sizes), size_bytes=sum(sizes))
        for (reader, reason), sizes in found.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.size_bytes))


def duplicates(constants: Sequence[Constant]) -> tuple[Duplicate, ...]:
    """Equal bytes of one type at several places in the file, the most wasteful first."""
    groups: dict[bytes, list[Constant]] = {}
    for each in constants:
        if each.size_bytes >= SMALLEST_DUPLICATE:
            groups.setdefault(each.digest, []).append(each)
    found = (
        Duplicate(names=tuple(_called(each) for each in own), size_bytes=own[0].size_bytes)
        for own in groups.values()
        if len(own) > 1
    )
    return tuple(sorted(found, key=lambda each: -each.wasted_bytes))


def by_layer(constants: Sequence[Constant], layers: Sequence[str]) -> dict[str, int]:
    """Numbered layers by their numbers, behind all others, which are in the order of their first operators."""
    sizes, first = Counter[str](), dict[str, int]()
    for each, layer in zip(constants, layers, strict=True):
        sizes[layer] += each.size_bytes
        first[layer] = min(first.get(layer, _NEVER), min(each.users, default=_NEVER))

    def order(layer: str) -> tuple[int, int]:
        numbered = re.fullmatch(r"layer (\d{1,9})", layer)
        return (1, int(numbered[1])) if numbered else (0, first[layer])

    return {layer: sizes[layer] for layer in sorted(sizes, key=order)}
