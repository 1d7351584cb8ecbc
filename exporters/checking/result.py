"""`CheckResult`: what a check found, as values. How it reads is in `text.py`, `junit.py` and `github.py`."""

import dataclasses
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from exporters.checking.paired import Drop
from exporters.errors import GATES, exit_code
from exporters.verification.quality import Flip

CHECK_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One gate of one file; `message` says what was expected and received."""

    gate: str
    passed: bool
    message: str

    @property
    def case(self) -> str:
        """What a CI server calls it."""
        return self.gate


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Processor time of one row, and as a multiple of the baseline's or the other file's, with quartiles."""

    median_ms: float
    ratio: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class CheckedFile:
    """`value` with its 95 % interval is the score in points; `n` rows, sentences or questions were judged.

    `more` are further metrics by name; `label_threshold` is the probability from which a label counts, where a text may
    have several. `flips` are the first of the `flipped` answers that got worse.
    """

    name: str
    sha256: str
    size_bytes: int
    metric: str
    value: float
    low: float
    high: float
    n: int
    verdicts: tuple[Verdict, ...]
    drop: Drop | None = None
    flips: tuple[Flip, ...] = ()
    flipped: int = 0
    timing: Timing | None = None
    more: Mapping[str, float] = field(default_factory=dict)
    label_threshold: float | None = None


class Judged(ABC):
    """A result with verdicts: what failed, and the exit code of it."""

    @property
    @abstractmethod
    def verdicts(self) -> tuple[tuple[str, Verdict], ...]:
        """File and verdict."""

    @property
    def failures(self) -> tuple[tuple[str, Verdict], ...]:
        """File and verdict."""
        return tuple((name, verdict) for name, verdict in self.verdicts if not verdict.passed)

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def exit_code(self) -> int:
        """That of the most fundamental failure."""
        return exit_code(verdict.gate for _, verdict in self.failures)

    def raise_for_failures(self) -> None:
        """For Python callers that want an exception: that of the most fundamental failure, naming all."""
        failed = {verdict.gate for _, verdict in self.failures}
        for kind in GATES:
            if kind.gate in failed:
                raise kind("; ".join(verdict.message for _, verdict in self.failures))


@dataclass(frozen=True, kw_only=True)
class CheckResult(Judged):
    """`compared` names the baseline or the other file; empty if there was none."""

    files: tuple[CheckedFile, ...]
    data: str
    data_sha256: str
    compared: str = ""
    updated: str = ""
    notes: tuple[str, ...] = ()

    @property
    def verdicts(self) -> tuple[tuple[str, Verdict], ...]:
        return tuple((file.name, verdict) for file in self.files for verdict in file.verdicts)

    def to_dict(self) -> dict[str, Any]:
        return {
            "check_version": CHECK_VERSION,
            "passed": self.passed,
            "exit_code": self.exit_code,
            **dataclasses.asdict(self),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)
