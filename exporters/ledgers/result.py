"""`Ledger`: what every runtime made of every file, as values. How it reads is in `text.py`."""

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any

from exporters.errors import EXIT_PASS, ParityError

LEDGER_VERSION = 1
REFERENCE, RAN, REFUSED, NOT_RUN = "reference", "ran", "refused", "not run"


@dataclass(frozen=True, kw_only=True)
class RuntimeRecord:
    """A runtime of the table; `missing` says what to install where it is not there."""

    name: str
    title: str
    processor: str
    version: str = ""
    missing: str = ""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file in a runtime.

    `status` is `reference`, `ran`, `refused` (the runtime did not take the file or crashed, `message` says how) or
    `not run`. `meant` tells whether the file is for the runtime; if not, `reason` says why, and nothing of it fails.
    Differences and labels are against the reference, which is LiteRT or ONNX Runtime on this machine; `keras_same` of
    `labels` are those of the Keras model.
    """

    file: str
    runtime: str
    status: str
    meant: bool = True
    reason: str = ""
    message: str = ""
    tolerance: float | None = None
    max_abs: float | None = None
    mean_abs: float | None = None
    labels: int = 0
    same: int = 0
    close: int = 0
    keras_same: int | None = None
    passed: bool = True


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """`keras` says why there is no Keras model to compare with; empty if there is one."""

    folder: str
    model: str
    data: str
    rows: int
    runtimes: tuple[RuntimeRecord, ...]
    entries: tuple[Entry, ...]
    keras: str = ""
    notes: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if not entry.passed)

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def exit_code(self) -> int:
        """0, or that of parity: a file does not compute the same everywhere."""
        return EXIT_PASS if self.passed else ParityError.exit_code

    def raise_for_failures(self) -> None:
        """For Python callers that want an exception."""
        if self.failures:
            raise ParityError("; ".join(f"{one.file} in {one.runtime}: {one.message}" for one in self.failures))

    def to_dict(self) -> dict[str, Any]:
        return {
            "ledger_version": LEDGER_VERSION,
            "passed": self.passed,
            "exit_code": self.exit_code,
            **dataclasses.asdict(self),
            "entries": [_finite(dataclasses.asdict(entry)) for entry in self.entries],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: null stands for it."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in values.items()
    }
