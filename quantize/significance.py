"""Which operators of a graph rank tokens, as PoWER-BERT does: they stay in float in static int8.

In eight bits, tokens of different significance would become equal, and the top-k would then choose by position. So what
a top-k ranks is computed in float: the softmax, the sum with the mask in front of it, and the means, differences and
products of single numbers between the softmax and the top-k. There is no product of matrices among them: the
attention's products stay in int8. What only moves the results of these operators (the picking of rows), and what is
computed from the picked mask, stays in float as well, since its input is float.

Both formats describe their operators as `Step`s, so that there is one rule, for the quantizers and for the audits.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

TOP, SOFTMAX, ADD, ELEMENT, MEAN, MOVE, CAST, OTHER = (
    "top",
    "softmax",
    "add",
    "element",
    "mean",
    "move",
    "cast",
    "other",
)
_MASKING = (ADD, ELEMENT, MOVE, CAST)
_RANKING = (*_MASKING, MEAN, SOFTMAX)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One operator: what it does, and the tensors that it reads and makes.

    Constants are left out, and so are the indices by which a `move` picks.
    """

    kind: str
    reads: tuple[Hashable, ...]
    writes: tuple[Hashable, ...]


def ranking(steps: Sequence[Step]) -> set[int]:
    """Positions of the operators that rank, and of those that only move their results or mask by them."""
    producers = {name: position for position, step in enumerate(steps) for name in step.writes}
    found = {position for position, step in enumerate(steps) if step.kind == TOP}
    # A tensor, and whether it lies in front of a softmax, where only the mask is looked for.
    waiting = [(name, False) for position in sorted(found) for name in steps[position].reads]
    seen = set(waiting)
    while waiting:
        name, in_front = waiting.pop()
        position = producers.get(name)
        if position is None or steps[position].kind not in (_MASKING if in_front else _RANKING):
            continue
        found.add(position)
        step = steps[position]
        if step.kind == CAST:  # of whole numbers, which are exact
            continue
        pairs = {(read, in_front or step.kind == SOFTMAX) for read in step.reads} - seen
        seen |= pairs
        waiting += pairs
    return found | _behind(steps, found)


def _behind(steps: Sequence[Step], found: set[int]) -> set[int]:
    """Operators that read nothing but results of these, and move them or change them by constants."""
    made = {name for position in found if steps[position].kind != TOP for name in steps[position].writes}
    more: set[int] = set()
    for position, step in enumerate(steps):
        fits = position not in found and step.kind in (MOVE, ADD, ELEMENT) and bool(step.reads)
        if fits and all(name in made for name in step.reads):
            more.add(position)
            made.update(step.writes)
    return more
