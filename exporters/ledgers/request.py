"""`LedgerRequest`: which export goes through all runtimes. Its fields are the flags of the command."""

from dataclasses import dataclass
from pathlib import Path

from exporters.request_fields import check_fields
from models_tf.data import DEFAULT_SEPARATOR, check_separator
from models_tf.errors import InputError, naming_fields

DEFAULT_ROWS = 200
# What `output` may end in: the form of the file.
OUTPUTS = (".json", ".md")


@dataclass(frozen=True, kw_only=True)
class LedgerRequest:
    """Run the files of `folder`, which an export wrote, on the first `rows` of `data`.

    Without `data`, the rows are those of the bundled model or of examples.json. `output` is a .json or .md file that
    also gets the result. A wrong type or combination is an InputError.
    """

    folder: Path
    data: Path | None = None
    rows: int = DEFAULT_ROWS
    output: Path | None = None
    text_column: str | None = None
    text_pair_column: str | None = None
    label_column: str | None = None
    label_separator: str = DEFAULT_SEPARATOR

    @naming_fields()
    def __post_init__(self) -> None:
        check_fields(self)
        check_separator(self.label_separator)
        if self.rows < 1:
            raise InputError(f"--rows must be at least 1. Received: {self.rows}.")
        if self.output is not None and self.output.suffix not in OUTPUTS:
            raise InputError(f"--output must end in {' or '.join(OUTPUTS)}. Received: {self.output}.")
