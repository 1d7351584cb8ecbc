"""Which operators compute with a constant: those that read it, or what was made of it by constants alone.

Between weights and the product that they are for may stand a DEQUANTIZE, a transpose or a cast; such steps are passed.
"""

from collections.abc import Hashable, Sequence


def users(
    reads: Sequence[Sequence[Hashable]], writes: Sequence[Sequence[Hashable]], constants: set[Hashable]
) -> dict[Hashable, list[int]]:
    """For each constant the places of the operators, in order. Operators come after what they read."""
    fixed, passed = set(constants), set[int]()
    for place, (own, made) in enumerate(zip(reads, writes, strict=True)):
        if own and all(key in fixed for key in own):
            fixed.update(made)
            passed.add(place)
    readers: dict[Hashable, list[int]] = {}
    for place, own in enumerate(reads):
        for key in dict.fromkeys(own):
            readers.setdefault(key, []).append(place)
    found: dict[Hashable, list[int]] = {}
    for key in (key for place in sorted(passed, reverse=True) for key in writes[place]):
        found[key] = _resolved(readers.get(key, []), passed, writes, found)
    return {key: _resolved(readers.get(key, []), passed, writes, found) for key in constants}


def _resolved(
    direct: list[int], passed: set[int], writes: Sequence[Sequence[Hashable]], known: dict[Hashable, list[int]]
) -> list[int]:
    final = set[int]()
    for place in direct:
        behind = [user for key in writes[place] for user in known.get(key, [])] if place in passed else []
        final.update(behind or [place])
    return sorted(final)
