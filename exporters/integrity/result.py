"""`VerifyResult`: what was found, as a value and as lines."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporters.errors import EXIT_PASS, ParityError
from models_tf.folders.manifest import Entry

MISSING, CHANGED, EXTRA, DIFFERENT = "missing", "changed", "extra", "different"
_SHOWN_DIGITS = 12


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A file that is `missing`, `changed` or `extra` in the folder, or `different` when it is made again."""

    kind: str
    file: str
    detail: str = ""

    @property
    def line(self) -> str:
        return f"{self.kind}: {self.file}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, kw_only=True)
class VerifyResult:
    """`files` are in the manifest, `rebuilt` of them were made again; `notes` say what may explain a difference."""

    folder: Path
    command: str
    files: int
    rebuilt: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.problems

    @property
    def exit_code(self) -> int:
        """0, or that of parity: the folder is not what it must equal."""
        return EXIT_PASS if self.passed else ParityError.exit_code

    def raise_for_failures(self) -> None:
        """For Python callers that want an exception."""
        if self.problems:
            raise ParityError("; ".join(problem.line for problem in self.problems))

    def lines(self) -> list[str]:
        """What the command prints: one line for each problem, or one that all is well."""
        notes = [f"note: {note}" for note in self.notes]
        if self.problems:
            return [*(problem.line for problem in self.problems), *notes]
        again = f", and {self.rebuilt} made again are the same byte for byte" if self.rebuilt else ""
        return [*notes, f"passed: {self.files} files of {self.folder} are as {self.command} wrote them{again}"]

    def to_json(self) -> str:
        values: dict[str, Any] = {"passed": self.passed, "exit_code": self.exit_code, **dataclasses.asdict(self)}
        return json.dumps(values | {"folder": str(self.folder)}, indent=2, ensure_ascii=False)


def difference(expected: Entry, now: Entry) -> str:
    """Two entries that are not equal, for a line."""
    if expected.size_bytes != now.size_bytes:
        return f"expected {expected.size_bytes:,} bytes, received {now.size_bytes:,}"
    before, after = (entry.sha256[:_SHOWN_DIGITS] for entry in (expected, now))
    return f"{now.size_bytes:,} bytes as expected, SHA-256 {after}… instead of {before}…"
