"""Parts of an encoder, and which part each weight and each operator of a file belongs to.

Weights go by name. Operators have no names (they are stripped), so they go by the graph: the products of two
activations and the softmax between them mark the attention of each layer, and after it the dense layers come in the
order of the forward pass. An operator without weights counts towards the part before it: bias, activation, residual sum
and norm to the dense layer, the split into heads to the linear layers before attention. That holds for every recipe,
for fused or split kernels, and for graphs optimized by a runtime.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from models_tf.encoder.config import GHOST_OUTPUTS
from models_tf.encoder.network import Network

EMBEDDING, BEFORE, ATTENTION = "embedding", "linear before attention", "attention"
AFTER, FFN, GHOSTS, HEAD = "linear after attention", "FFN", "ghosts", "head"
PARTS = (EMBEDDING, BEFORE, ATTENTION, AFTER, FFN, GHOSTS, HEAD)
# Bytes of a file that belong to no part: the structure, and constants that several parts read.
GRAPH = "graph"

MATMUL, CONVOLUTION, GHOST, SOFTMAX, FUSED, OTHER = "matmul", "convolution", "ghost", "softmax", "fused", "other"

_BEFORE = ("bottleneck_input", "bottleneck_shared", "query", "key", "value", "fused_input")


class UnknownGraphError(Exception):
    """The operators are not those of the network; the message is one line."""


@dataclass(frozen=True, kw_only=True)
class Op:
    """One operator: the tensors it reads and writes. For a matmul, `factors` are the two tensors multiplied and
    `weights` the number of elements of the second.
    """

    kind: str
    reads: tuple[Hashable, ...]
    writes: tuple[Hashable, ...]
    factors: tuple[Hashable, ...] = ()
    weights: int = 0
    multiply_adds: int = 0


@dataclass(frozen=True, kw_only=True)
class OpGraph:
    """Operators, each after what it reads. `constants` are the tensors stored in the file, with their bytes."""

    ops: tuple[Op, ...]
    constants: Mapping[Hashable, int]


def part_of_weight(name: str) -> str:
    """The part of a weight of `EncoderConfig.shapes`, or of its rewritten form."""
    pieces = name.split(".")
    if pieces[0] in ("pooler", "classifier"):
        return HEAD
    if pieces[0] != "layers":
        return EMBEDDING
    own = pieces[2].removesuffix("_norm")
    if own in _BEFORE:
        return BEFORE
    if own.startswith("ghost_"):
        return GHOSTS
    return AFTER if own in ("attention", "attention_output") else FFN


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The dense layers of a network in order: how many the embedding has, and for each layer the parts of those between
    its attention and the next layer. `ghosts` is the most ghosts of a layer, if each has its own factor.
    """

    embedding: int
    chains: tuple[tuple[str, ...], ...]
    ghosts: int = 0

    @classmethod
    def of(cls, network: Network) -> "Plan":
        config, tensors = network.config, network.tensors
        first = ("embedding_convolution", "embedding_projection")
        names = ["attention_output"]
        names += [f"ffn.{number}.{part}" for number in range(config.num_ffn) for part in ("intermediate", "output")]
        names += ["bottleneck_output"]
        chains = []
        for layer in range(config.num_layers):
            kernels = [f"{config.weights_of(layer)}.{name}.kernel" for name in names]
            chains.append(tuple(part_of_weight(kernel) for kernel in kernels if kernel in tensors))
        factors = max((*config.ghost_heads, *config.ghost_folds), default=0)
        return cls(
            embedding=sum(f"{name}.kernel" in tensors for name in first),
            chains=tuple(chains),
            ghosts=factors if config.ghost_on == GHOST_OUTPUTS else 0,
        )


@dataclass(frozen=True, order=True)
class _Place:
    """Where in the network a tensor is: attentions passed, dense layers since, and whether ghosts made it."""

    layer: int = 0
    dense: int = 0
    ghost: bool = False


_SCORES, _WEIGHTS = 1 << 20, (1 << 20) + 1  # in place of a number of dense layers, past all of them


def assign(graph: OpGraph, plan: Plan) -> list[frozenset[str]]:
    """The part of each operator. One that works only on constants belongs to all that read its result."""
    fixed: set[Hashable] = set(graph.constants)
    places: dict[Hashable, _Place] = {}
    found: list[str | None] = []
    seen: set[_Place] = set()
    for op in graph.ops:
        if all(key in fixed for key in op.reads):
            fixed |= set(op.writes)
            found.append(None)
            continue
        place = max((places[key] for key in op.reads if key in places), default=_Place())
        part, place = _step(op, place, fixed, plan)
        places |= dict.fromkeys(op.writes, place)
        seen.add(place)
        found.append(part or _part(place, plan))
    _check(seen, plan)
    return list(_with_readers(graph, found))


def _step(op: Op, place: _Place, fixed: set[Hashable], plan: Plan) -> tuple[str | None, _Place]:
    """The part, if the operator itself tells, and the place of its result."""
    if op.kind == FUSED:
        raise UnknownGraphError("attention is one operator together with the linear layers around it")
    if op.kind == SOFTMAX:
        return ATTENTION, _Place(place.layer, _WEIGHTS)
    if op.kind == GHOST:
        return GHOSTS, _Place(place.layer, place.dense, ghost=True)
    if op.kind == MATMUL and not any(key in fixed for key in op.factors):
        if place.dense < _SCORES:
            return ATTENTION, _Place(place.layer, _SCORES)
        return ATTENTION, _Place(place.layer + 1)
    if op.kind in (MATMUL, CONVOLUTION):
        if place.ghost and op.weights <= plan.ghosts:  # what ghosts are multiplied by before they are added
            return GHOSTS, _Place(place.layer, place.dense)
        return None, _Place(place.layer, place.dense + 1)
    return None, place


def _part(place: _Place, plan: Plan) -> str:
    if place.ghost:
        return GHOSTS
    if place.dense >= _SCORES or (place.layer and not place.dense):
        return ATTENTION
    if not place.layer:
        return EMBEDDING if place.dense <= plan.embedding else BEFORE
    chain = plan.chains[place.layer - 1] if place.layer <= len(plan.chains) else ()
    if place.dense <= len(chain):
        return chain[place.dense - 1]
    return BEFORE if place.layer < len(plan.chains) else HEAD


def _check(seen: set[_Place], plan: Plan) -> None:
    """Every dense layer after each attention must have been seen; otherwise the parts would be shifted."""
    layers = max((place.layer for place in seen), default=0)
    if layers != len(plan.chains):
        raise UnknownGraphError(f"{len(plan.chains)} layers were expected, and {layers} have attention")
    reached = {(place.layer, place.dense) for place in seen}
    for layer, chain in enumerate(plan.chains, start=1):
        for number in range(1, len(chain) + 1):
            if (layer, number) not in reached:
                raise UnknownGraphError(
                    f"layer {layer - 1} lacks dense layer {number} of {len(chain)} behind attention"
                )


def _with_readers(graph: OpGraph, found: list[str | None]) -> Iterator[frozenset[str]]:
    """Operators on constants get the parts that read them; those that only prepare a ghost's input count as ghosts."""
    readers: dict[Hashable, list[int]] = {}
    for index, op in enumerate(graph.ops):
        for key in op.reads:
            readers.setdefault(key, []).append(index)
    parts: list[frozenset[str]] = [frozenset()] * len(graph.ops)
    prepares: set[int] = set()
    for index in reversed(range(len(graph.ops))):
        op, part = graph.ops[index], found[index]
        behind = [reader for key in op.writes for reader in readers.get(key, [])]
        if part is None:
            parts[index] = frozenset().union(*(parts[reader] for reader in behind))
            continue
        if op.kind == GHOST or (op.kind == OTHER and behind and all(reader in prepares for reader in behind)):
            prepares.add(index)
            part = GHOSTS
        parts[index] = frozenset((part,))
    yield from parts


def bytes_of_parts(graph: OpGraph, parts: list[frozenset[str]], size_bytes: int) -> dict[str, int]:
    """Bytes of the constants that only one part reads; the rest of the file counts as the graph."""
    owners: dict[Hashable, frozenset[str]] = {}
    for op, own in zip(graph.ops, parts, strict=True):
        for key in op.reads:
            if key in graph.constants:
                owners[key] = owners.get(key, frozenset()) | own
    found = dict.fromkeys(PARTS, 0)
    for key, own in owners.items():
        if len(own) == 1:
            found[next(iter(own))] += graph.constants[key]
    return {**found, GRAPH: size_bytes - sum(found.values())}


def multiply_adds_of_parts(graph: OpGraph, parts: list[frozenset[str]]) -> dict[str, int]:
    found = dict.fromkeys(PARTS, 0)
    for op, own in zip(graph.ops, parts, strict=True):
        if op.multiply_adds:
            found[next(iter(own))] += op.multiply_adds
    return found
