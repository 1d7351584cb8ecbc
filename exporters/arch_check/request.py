"""`CheckArchRequest`: everything that a check on another processor needs to know."""

from dataclasses import dataclass
from pathlib import Path

from exporters.request_fields import check_fields
from models_tf.data import DEFAULT_SEPARATOR, check_separator
from models_tf.errors import InputError, naming_fields

ARM64 = "arm64"
ARCHES = (ARM64,)
# Instructions of the same file in the same runtime repeated to 0.6 % and better in two runs (docs/ci.md).
DEFAULT_RATIO = 1.05


@dataclass(frozen=True, kw_only=True)
class CheckArchRequest:
    """Run `model`, a file or an export folder, in the runtimes of `arch` and compare answers with this machine's.

    Rows are those of `data`, else of examples.json; `rows` uses only the first ones. `baseline` is a file that an
    earlier check wrote with `update_baseline`: then one inference of each file may take at most
    `max_instruction_ratio` times the instructions (default 1.05). A wrong type or combination is an InputError.
    """

    model: Path
    arch: str = ARM64
    data: Path | None = None
    baseline: Path | None = None
    update_baseline: bool = False
    max_instruction_ratio: float | None = None
    rows: int | None = None
    text_column: str | None = None
    text_pair_column: str | None = None
    label_column: str | None = None
    label_separator: str = DEFAULT_SEPARATOR

    @naming_fields()
    def __post_init__(self) -> None:
        check_fields(self)
        check_separator(self.label_separator)
        if self.arch not in ARCHES:
            raise InputError(f"--arch must be {' or '.join(ARCHES)}. Received: {self.arch[:40]}.")
        if self.update_baseline and self.baseline is None:
            raise InputError("--update-baseline needs --baseline FILE to write to. Received: none.")
        ratio = self.max_instruction_ratio
        if ratio is not None and self.baseline is None:
            raise InputError("--max-instruction-ratio needs something to compare with: give --baseline FILE.")
        if ratio is not None and self.update_baseline:
            raise InputError(
                "--update-baseline accepts the files as they are. Received: --max-instruction-ratio beside it."
            )
        if ratio is not None and not 0 < ratio <= 1000:
            raise InputError(f"--max-instruction-ratio must be above 0, such as 1.05. Received: {ratio:g}.")
        if self.rows is not None and self.rows < 1:
            raise InputError(f"--rows must be at least 1. Received: {self.rows}.")
