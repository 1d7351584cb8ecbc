"""How a float region grows from its seeds. Each format's `regions.py` says what seeds and neighbors are."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

Tensor = TypeVar("Tensor", bound=Hashable)


def grow(seeds: set[int], tensors: Mapping[int, set[Tensor]]) -> set[int]:
    """Positions of the operators that are connected with a seed; `tensors` are those that connect each candidate."""
    touching: dict[Tensor, list[int]] = {}
    for position, names in tensors.items():
        for name in names:
            touching.setdefault(name, []).append(position)
    region = set(seeds)
    waiting = list(region)
    while waiting:
        for name in tensors[waiting.pop()]:
            found = [position for position in touching[name] if position not in region]
            region.update(found)
            waiting += found
    return region
