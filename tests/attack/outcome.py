"""What one attack gives, and what a kind of attack is."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`kind` is the row of the table; `case` says what was done, short: with the seed it is reproducible.

    `code` is the exit code, negative for a signal. `problem` is empty if all went as promised, else it says why this is
    a finding: exit 1, a signal, a traceback, something half-written, leftovers, a hang, memory.
    """

    kind: str
    case: str
    code: int
    problem: str = ""


# A seeded generator and an empty folder of its own. A module of kinds has a table `KINDS` of them by name, and may have
# `SHARES`: how often a kind runs, relative to the others (1 if it is not named).
Kind = Callable[[random.Random, Path], Outcome]
