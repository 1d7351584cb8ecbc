"""Which layer each constant of a file belongs to, by the names in it; where there are none, by the graph.

A name such as `bert/encoder/layer_._3/attention/...`, `encoder.layer.3.attention...` or `h.3.mlp...` has the number of
a layer in it. Other names count by their first part behind what all names have in common: `model/conv_1/Conv2D` and
`model/dense/MatMul` give `conv_1` and `dense`. Names that a converter made up (`arith.constant12`) tell nothing: then
the names of what is computed from the constant are asked. Files without names are cut at their attentions.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from exporters.anatomy.parts import Constant
from exporters.profiling.parts import CONVOLUTION, FUSED, GHOST, MATMUL, SOFTMAX, OpGraph

_SPLIT = re.compile(r"[/.:]+")
_NUMBERED = re.compile(
    r"(?:^|[/._:])(?:layers?|blocks?|h|group|stage|encoder_layers?|transformer_blocks?|layer_group)[/._:]*(\d+)(?=$|[/._:])"
)
_MADE_UP = re.compile(
    r"(?:arith\.constant|std\.constant|tfl\.pseudo_q?const|onnx::\w+?|val|const\w*?|constant\w*?|cst|_?v|tensor|weight"
    r"|[a-z]{1,3}|initializer|new_shape\w*|buffer|node_\w+?|\w+__)?[_.:]*\d*(?:__\d+)?(?:[/_.:]?\d+)*"
)
# Ends of names that say what a tensor is, not where.
_ADDED = re.compile(r"(?:_quantized|_zero_point|_scales?|_output(?:_\d+)?|_q4|_q4g\d+|_dq_q4|:\d+)+$", re.IGNORECASE)
_LEAVES = re.compile(
    r"weights?|bias|kernel|gamma|beta|matmul|biasadd|add|mul|conv2d|readvariableop|const(?:ant)?|gather|tensordot|resource"
)
EMBEDDING, REST = "before the first attention", "without a name"
FROM_BYTES = "from bytes to features"
_NEARLY_ALL = 0.8
# More operators of one kind than this are not told apart.
_MOST_ALIKE = 24


def layers(constants: Sequence[Constant], graph: OpGraph | None) -> list[str]:
    """The layer of each constant, in the same order. What prepares texts is one layer, whatever its operators are."""
    found = iter(_layers([constant for constant in constants if not constant.of_text], graph))
    return [FROM_BYTES if constant.of_text else next(found) for constant in constants]


def _layers(constants: Sequence[Constant], graph: OpGraph | None) -> list[str]:
    named = [_best_name(constant) for constant in constants]
    known = sum(constant.size_bytes for constant, name in zip(constants, named, strict=True) if name)
    everything = sum(constant.size_bytes for constant in constants)
    if graph is not None and 2 * known < everything:
        return _by_graph(constants, graph)
    common = _common([_path(name) for name in named if name])
    return [_by_name(name, common) if name else REST for name in named]


def _best_name(constant: Constant) -> str:
    """Its own name, or that of what it is used for; "" if all of them are made up."""
    for name in (constant.name, *constant.near):
        first = _ADDED.sub("", name.partition(";")[0].strip("/"))
        if first and not _MADE_UP.fullmatch(first.lower()):
            return first
    return ""


def _path(name: str) -> list[str]:
    """The parts of a name without the last ones, which say what the tensor is."""
    found = [part for part in _SPLIT.split(name) if part] or [name]
    while len(found) > 1 and _LEAVES.fullmatch(found[-1].lower()):
        found.pop()
    return found


def _by_name(name: str, common: Sequence[str]) -> str:
    numbered = _NUMBERED.search(name)
    if numbered:
        return f"layer {int(numbered[1])}"
    path = _path(name)
    if len(path) > len(common) and path[: len(common)] == list(common):
        path = path[len(common) :]
    # `features.3` is one name.
    return ".".join(path[:2]) if len(path) > 1 and path[1].isdigit() else path[0]


def _common(paths: Sequence[list[str]]) -> list[str]:
    """First parts that nearly all paths share and that are not all of any."""
    shared: list[str] = []
    while True:
        own = [path for path in paths if path[: len(shared)] == shared and len(path) > len(shared) + 1]
        counts = Counter(path[len(shared)] for path in own).most_common(1)
        if not counts or counts[0][1] < _NEARLY_ALL * len(paths):
            return shared
        shared.append(counts[0][0])


def _by_graph(constants: Sequence[Constant], graph: OpGraph) -> list[str]:
    """By the attention before which or behind which an operator stands; without attention by the kind of operator."""
    found = _attentions(graph)
    last = max(found, default=0)
    counts: dict[str, list[int]] = {}
    for constant in constants:
        for reader, user in zip(constant.readers, constant.users, strict=False):
            known = counts.setdefault(reader, [])
            if user not in known:
                known.append(user)
    order = {name: {user: number for number, user in enumerate(sorted(users), 1)} for name, users in counts.items()}
    named = []
    for constant in constants:
        users = [user for user in constant.users if user < len(found)]
        if not users:
            named.append(REST)
        elif last:
            number = min(found[user] for user in users)
            named.append(f"layer {number - 1}" if number else EMBEDDING)
        else:
            named.append(_alike(constant.readers[0], min(users), order))
    return named


def _alike(reader: str, user: int, order: Mapping[str, Mapping[int, int]]) -> str:
    own = order.get(reader, {})
    return f"{reader} {own[user]}" if user in own and 1 < len(own) <= _MOST_ALIKE else reader


def _attentions(graph: OpGraph) -> list[int]:
    """For each operator the number of its layer, from 1; 0 before the first. A layer starts with the products that lead
    straight to its attention and ends where those of the next one start.
    """
    fixed = set(graph.constants)
    scored: dict[object, bool] = {}  # tensors that scores were made of, up to the product with the values
    passed: dict[object, int] = {}
    own = [0] * len(graph.ops)
    is_product = [False] * len(graph.ops)
    for place, op in enumerate(graph.ops):
        if all(key in fixed for key in op.reads):
            fixed |= set(op.writes)
            continue
        number = max((passed.get(key, 0) for key in op.reads), default=0)
        in_scores = any(scored.get(key) for key in op.reads)
        if op.kind == MATMUL and not any(key in fixed for key in op.factors):
            is_product[place] = True
            if in_scores:
                number, in_scores = number + 1, False
            else:
                in_scores = True
            own[place] = number if not in_scores else number + 1
        elif op.kind == FUSED:
            is_product[place] = True
            number += 1
            own[place] = number
        else:
            own[place] = number + 1 if op.kind == SOFTMAX else number
        passed |= dict.fromkeys(op.writes, number)
        scored |= dict.fromkeys(op.writes, in_scores)
    if not any(passed.values()):
        return [0] * len(graph.ops)  # no attention: one product of two activations does not make one
    _move_up(graph, own, is_product)
    return own


def _move_up(graph: OpGraph, own: list[int], is_product: list[bool]) -> None:
    """Gives operators that lead to a product of two activations, with no other product between, to its layer."""
    readers: dict[object, list[int]] = {}
    for place, op in enumerate(graph.ops):
        for key in op.reads:
            readers.setdefault(key, []).append(place)
    leads = [0] * len(graph.ops)  # the layer of the product that is reached first, if only such are
    weighted = (MATMUL, CONVOLUTION, GHOST)
    for place in reversed(range(len(graph.ops))):
        targets = []
        for reader in {reader for key in graph.ops[place].writes for reader in readers.get(key, [])}:
            if is_product[reader]:
                targets.append(own[reader])
            elif graph.ops[reader].kind in weighted:
                targets.append(0)
            else:
                targets.append(leads[reader])
        leads[place] = min(targets) if targets and all(targets) else 0
    for place, op in enumerate(graph.ops):
        if not is_product[place] and leads[place] and (op.kind in weighted or own[place] < leads[place]):
            own[place] = max(own[place], leads[place])
