"""`AndroidRequest`: which export becomes part of which app. Its fields are the flags of the command."""

from dataclasses import dataclass
from pathlib import Path

from exporters.app_code.names import check_class_name, check_package
from exporters.request_fields import check_fields


@dataclass(frozen=True, kw_only=True)
class AndroidRequest:
    """`folder` was written by an export, `output` is the folder of an app module, with its build.gradle.kts.

    With `no_library` the Java sources of the library are left out, for apps that have it as a module. `force` also
    replaces files that somebody changed or wrote.
    """

    folder: Path
    package: str
    output: Path
    class_name: str | None = None
    no_library: bool = False
    force: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_package(self.package)
        if self.class_name is not None:
            check_class_name(self.class_name)
