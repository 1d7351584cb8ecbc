"""`DemoRequest`: which exports a page shows, and where. Its fields are the flags of the command."""

from dataclasses import dataclass
from pathlib import Path

from exporters.request_fields import check_fields
from models_tf.errors import InputError, naming_fields

_LARGEST_PORT = 65535


@dataclass(frozen=True, kw_only=True)
class DemoRequest:
    """Folders that `export` wrote. `port` 0 is any free one; with `output` the page is written in place of served."""

    folders: tuple[Path, ...]
    port: int = 0
    output: Path | None = None
    force: bool = False

    @naming_fields()
    def __post_init__(self) -> None:
        check_fields(self)
        if not self.folders:
            raise InputError("demo needs at least one folder that export-mobile wrote. Received: none.")
        if not 0 <= self.port <= _LARGEST_PORT:
            raise InputError(f"--port must be 0 (any free one) to {_LARGEST_PORT}. Received: {self.port}.")
        if self.output is not None and self.port:
            raise InputError("--port is for a page that is served. Received: --output, which writes it.")
        if self.force and self.output is None:
            raise InputError("--force is for --output. Received: no --output.")
