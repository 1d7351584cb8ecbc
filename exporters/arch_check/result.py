"""`CheckArchResult`: what files did on another processor, as values. How it reads is in `text.py`."""

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any

from exporters.checking.result import Judged, Verdict

ARCH_CHECK_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class RuntimeVerdict(Verdict):
    """A verdict on a file in one runtime."""

    runtime: str

    @property
    def case(self) -> str:
        return f"{self.gate} in {self.runtime}"


@dataclass(frozen=True, kw_only=True)
class Run:
    """A file in one runtime. `skipped` says why it was not run, `error` why it failed; without both, it answered.

    `max_abs` and `mean_abs` are differences from this machine's answers. Of `labels` choices `same` are equal, and
    `close` are too near a tie to be judged. `ratio` compares `instructions` with the baseline's.
    """

    runtime: str
    version: str
    skipped: str = ""
    error: str = ""
    max_abs: float | None = None
    mean_abs: float | None = None
    labels: int = 0
    same: int = 0
    close: int = 0
    instructions: int | None = None
    ratio: float | None = None


@dataclass(frozen=True, kw_only=True)
class ArchFile:
    """`tolerance` is the largest difference allowed, `tolerance_from` says where it comes from."""

    name: str
    sha256: str
    size_bytes: int
    rows: int
    tolerance: float
    tolerance_from: str
    runs: tuple[Run, ...]
    verdicts: tuple[RuntimeVerdict, ...]


@dataclass(frozen=True, kw_only=True)
class CheckArchResult(Judged):
    """`compared` names the baseline, `updated` the one written; empty if there was none."""

    arch: str
    processor: str
    emulator: str
    files: tuple[ArchFile, ...]
    data: str
    compared: str = ""
    updated: str = ""
    notes: tuple[str, ...] = ()

    @property
    def verdicts(self) -> tuple[tuple[str, Verdict], ...]:
        return tuple((file.name, verdict) for file in self.files for verdict in file.verdicts)

    def to_dict(self) -> dict[str, Any]:
        found = {
            "arch_check_version": ARCH_CHECK_VERSION,
            "passed": self.passed,
            "exit_code": self.exit_code,
            **dataclasses.asdict(self),
        }
        plain: dict[str, Any] = _finite(found)
        return plain

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)


def _finite(value: Any) -> Any:
    """JSON has no infinity: null stands for it."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
