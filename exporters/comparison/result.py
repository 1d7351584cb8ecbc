"""`Comparison`: the candidates with frontier and picks, as a value; how it reads is in `text.py` and `page.py`."""

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from exporters.comparison.candidate import Candidate
from exporters.comparison.frontier import Limits

COMPARISON_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """`frontier` and `picks` are places in `candidates`; `notes` say what the numbers cannot be compared in."""

    metric: str | None
    candidates: tuple[Candidate, ...]
    frontier: tuple[int, ...]
    limits: Limits
    picks: dict[str, int]
    notes: tuple[str, ...]
    comparison_version: int = COMPARISON_VERSION

    def picks_of(self, number: int) -> list[str]:
        """What a candidate is picked as."""
        return [name for name, place in self.picks.items() if place == number]

    def to_dict(self) -> dict[str, Any]:
        values = dataclasses.asdict(self)
        for number, row in enumerate(values["candidates"]):
            row |= {
                "name": self.candidates[number].name,
                "frontier": number in self.frontier,
                "picks": self.picks_of(number),
            }
        return values

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_markdown(self) -> str:
        from exporters.comparison.text import markdown

        return markdown(self)

    def to_html(self) -> str:
        """One page without network. Needs the extra `[export]`, which brings what draws it."""
        from exporters.comparison.page import page

        return page(self)

    def summary(self) -> str:
        """What the command prints, as plain text."""
        from exporters.comparison.text import blocks
        from exporters.report.tables import plain

        return plain(blocks(self))
