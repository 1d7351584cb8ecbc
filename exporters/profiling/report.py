"""`Profile`: the measured values, as in report.json. `text.py` turns them into text."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from exporters.formats.base import get
from exporters.profiling.timing import PartTime, Timing

PROFILE_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class PartProfile:
    """`parameters` of the checkpoint; `multiply_adds` of one row of the exported graph."""

    part: str
    parameters: int
    multiply_adds: int


@dataclass(frozen=True, kw_only=True)
class FileProfile:
    """One model file: `part_bytes` and `graph_bytes` add up to `size_bytes`. If `timing` is None, `note` says why."""

    name: str
    target: str
    size_bytes: int
    graph_bytes: int
    part_bytes: Mapping[str, int]
    timing: Timing | None
    note: str = ""

    @property
    def runtime(self) -> str:
        return get(self.target).runtime

    def time_of(self, part: str) -> PartTime | None:
        return None if self.timing is None else self.timing.parts.get(part)


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A profile of one model, in the order of the forward pass."""

    model: dict[str, Any]
    quantize: str
    command: str
    rounds: int
    parts: tuple[PartProfile, ...]
    files: tuple[FileProfile, ...]
    cpu: str
    versions: dict[str, str]
    profile_version: int = PROFILE_VERSION

    @property
    def parameters(self) -> int:
        return sum(part.parameters for part in self.parts)

    @property
    def multiply_adds(self) -> int:
        return sum(part.multiply_adds for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        return {
            "parameters": self.parameters,
            "multiply_adds": self.multiply_adds,
            **dataclasses.asdict(self),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def summary(self) -> str:
        """What the command prints, as plain text."""
        from exporters.profiling.text import blocks
        from exporters.report.tables import plain

        return plain(blocks(self))

    def documents(self) -> dict[str, str]:
        """The files of the output folder."""
        from exporters.profiling.chart import CHART, svg
        from exporters.profiling.text import markdown

        return {"report.json": self.to_json() + "\n", "report.md": markdown(self), CHART: svg(self)}
