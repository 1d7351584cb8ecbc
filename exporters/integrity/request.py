"""`VerifyRequest`: which folder is verified. Its fields are the flags of the command."""

from dataclasses import dataclass
from pathlib import Path

from exporters.request_fields import check_fields


@dataclass(frozen=True, kw_only=True)
class VerifyRequest:
    """A folder that `export`, `compress` or `profile` wrote. `rebuild` also makes an export again and compares."""

    folder: Path
    rebuild: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
