"""Which attacks run, in which order: kinds by name, each as often as its share says, all of them mixed."""

import heapq
import importlib
import itertools
import pkgutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tests.attack.outcome import Kind

INPUTS, FAULTS = "tests.attack.kinds", "tests.attack.faults"
PACKAGES = (INPUTS, FAULTS)
Job = tuple[str, int]  # a kind and its number


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A kind and how often it runs, relative to the others."""

    kind: Kind
    share: float = 1
    package: str = INPUTS


def load(packages: Collection[str] = PACKAGES) -> dict[str, Entry]:
    """All kinds, by name. A module without `KINDS` has none."""
    found: dict[str, Entry] = {}
    for package in packages:
        try:
            folder = importlib.import_module(package)
        except ModuleNotFoundError:
            continue
        for info in sorted(pkgutil.iter_modules(folder.__path__), key=lambda info: info.name):
            if info.name.startswith("test_"):
                continue
            module = importlib.import_module(f"{package}.{info.name}")
            shares: Mapping[str, float] = getattr(module, "SHARES", {})
            for name, kind in getattr(module, "KINDS", {}).items():
                if name in found:
                    raise LookupError(f"two kinds are named {name!r}")
                found[name] = Entry(kind=kind, share=shares.get(name, 1), package=package)
    return found


def chosen(entries: Mapping[str, Entry], wanted: Collection[str]) -> dict[str, Entry]:
    """Those whose name starts with one of `wanted`; all if none is wanted."""
    found = {
        name: entry for name, entry in entries.items() if not wanted or any(name.startswith(word) for word in wanted)
    }
    unknown = [word for word in wanted if not any(name.startswith(word) for name in entries)]
    if unknown or not found:
        raise LookupError(f"no such kind: {', '.join(unknown)}. There are: {', '.join(entries)}.")
    return found


def order(entries: Mapping[str, Entry]) -> Iterator[Job]:
    """Endless: each kind with its running number, always the one that is most behind its share. Never random."""
    waiting = [
        (Fraction(1, 2) / Fraction(entry.share).limit_denominator(1000), place, name, 0)
        for place, (name, entry) in enumerate(entries.items())
        if entry.share > 0
    ]
    heapq.heapify(waiting)
    while waiting:
        due, place, name, number = heapq.heappop(waiting)
        yield name, number
        step = 1 / Fraction(entries[name].share).limit_denominator(1000)
        heapq.heappush(waiting, (due + step, place, name, number + 1))


def of_package(entries: Mapping[str, Entry], package: str) -> dict[str, Entry]:
    """Mutated inputs, or faults of the system."""
    return {name: entry for name, entry in entries.items() if entry.package == package}


def mixed(
    inputs: Iterable[tuple[str, int]], faults: Iterator[tuple[str, int]], every: int
) -> Iterator[tuple[str, int]]:
    """A fault after `every` inputs, and what is left of the faults at the end."""
    for number, job in enumerate(inputs, 1):
        yield job
        if number % every == 0:
            yield from itertools.islice(faults, 1)
    yield from faults
