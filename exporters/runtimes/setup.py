"""`SetupRequest` and `setup`: fetch a runtime that is not part of any install of ours, once, into the cache.

A kind is a row of `KINDS`: a name and the function that installs it and says in one line what is there.
"""

import importlib
from dataclasses import dataclass

from exporters.request_fields import check_fields, check_request
from models_tf import registry
from models_tf.errors import InputError, naming_fields

KINDS = {
    "arm64": "exporters.runtimes.arm64_setup:setup_arm64",
    "web": "exporters.runtimes.npm:setup_web",
}


@dataclass(frozen=True, kw_only=True)
class SetupRequest:
    """Which runtime: `kind` is "web", the engines of browsers from npm, or "arm64", the runtimes of phones for an
    emulator, from Debian and PyPI.
    """

    kind: str

    def __post_init__(self) -> None:
        check_fields(self)
        if self.kind not in KINDS:
            raise InputError(
                f"`kind` must be one of {', '.join(KINDS)}. Received: {self.kind[:40]!r}."
                + registry.nearest(self.kind, tuple(KINDS))
            )


def setup(request: SetupRequest) -> str:
    """Fetch the runtime of the request from a registry of packages, unless it is there. Returns one line about it.

    Raises:
        InputError: a program that is needed is missing, or the registry gives no answer.
    """
    check_request(request, SetupRequest)
    module, _, name = KINDS[request.kind].partition(":")
    with naming_fields():
        return str(getattr(importlib.import_module(module), name)())
