"""The table of an attack: inputs, outcomes and findings of each kind, on the terminal, as JSON and as Markdown."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.attack.outcome import Outcome

# As `exporters/errors.py` documents them.
DOCUMENTED = (0, 2, 3, 4, 5, 6, 7)
KILLED, CRASHES = "killed by us", "exit 1 and crashes"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An outcome that was not as promised; `place` (KIND:NUMBER) and the seed repeat it."""

    place: str
    outcome: Outcome


@dataclass(kw_only=True)
class Tally:
    """Outcomes as they come in."""

    codes: dict[str, Counter[int]] = field(default_factory=dict)
    crashes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def add(self, place: str, outcome: Outcome) -> None:
        self.codes.setdefault(outcome.kind, Counter())[outcome.code] += 1
        # A signal that the attack sent is no crash: then there is no problem.
        if outcome.code == 1 or (outcome.problem and outcome.code not in DOCUMENTED):
            self.crashes[outcome.kind] += 1
        if outcome.problem:
            self.findings.append(Finding(place=place, outcome=outcome))

    @property
    def inputs(self) -> int:
        return sum(counts.total() for counts in self.codes.values())

    def document(self) -> dict[str, Any]:
        """For `--result`."""
        broken = Counter(found.outcome.kind for found in self.findings)
        return {
            "inputs": self.inputs,
            "kinds": {
                kind: {
                    "inputs": counts.total(),
                    "codes": {str(code): counts[code] for code in sorted(counts)},
                    "crashes": self.crashes[kind],
                    "findings": broken[kind],
                }
                for kind, counts in sorted(self.codes.items())
            },
            "findings": [
                {"place": found.place, "case": found.outcome.case, "code": found.outcome.code}
                | {"problem": found.outcome.problem}
                for found in self.findings
            ],
        }


def rows(document: dict[str, Any]) -> list[list[str]]:
    """Header, one row for each kind, and the sum."""
    kinds = document["kinds"]
    table = [["kind", "inputs", *(f"exit {code}" for code in DOCUMENTED), KILLED, CRASHES, "findings"]]
    total: Counter[str] = Counter()
    for name, kind in kinds.items():
        codes = {f"exit {code}": kind["codes"].get(str(code), 0) for code in DOCUMENTED}
        killed = kind["inputs"] - sum(codes.values()) - kind["crashes"]
        cells = {"inputs": kind["inputs"], **codes, KILLED: killed, CRASHES: kind["crashes"]}
        cells["findings"] = kind["findings"]
        total.update(cells)
        table.append([name, *(f"{cells[column]:,}" for column in table[0][1:])])
    return [*table, ["all", *(f"{total[column]:,}" for column in table[0][1:])]]


def text(table: Iterable[list[str]]) -> str:
    """For a terminal."""
    lines = list(table)
    widths = [max(len(row[place]) for row in lines) for place in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) if place == 0 else cell.rjust(width) for place, (cell, width) in parts)
        for row in lines
        for parts in [list(enumerate(zip(row, widths, strict=True)))]
    )


def markdown(table: Iterable[list[str]]) -> str:
    """For a page."""
    header, *others = table
    lines = [header, ["---", *("---:" for _ in header[1:])], *others]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)
