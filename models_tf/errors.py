"""Errors about what the user gave us: files, columns, labels, settings, checkpoints.

Messages are written in flags (`--max-seq-len`). Callers from Python get them in fields: `naming_fields`.
"""

import contextlib
import re
from collections.abc import Callable, Iterator

# As they stand in a sentence; not inside of names, paths and quoted values.
_FLAG = re.compile(r"(?<![^\s(])--([a-z][a-z0-9-]*[a-z0-9])")
# Flags whose field has another name. A field of KEY=VALUE texts ends with `overrides`, its flag with `set`.
_FIELDS = {"max-size": "max_size_bytes", "set": "overrides"}


class InputError(ValueError):
    """One line for the user: what was expected, what was received, what to do."""


def field_of(flag: str) -> str:
    """The field of a request that a flag sets."""
    name = flag.removeprefix("--")
    return _FIELDS.get(name, re.sub("-set$", "-overrides", name).replace("-", "_"))


@contextlib.contextmanager
def naming_fields() -> Iterator[None]:
    """An InputError raised inside names fields in place of flags. Around the requests and functions of the API."""
    with _rewording(lambda text: _FLAG.sub(lambda flag: f"`{field_of(flag[1])}`", text)):
        yield


@contextlib.contextmanager
def naming_flags(flags: dict[str, str]) -> Iterator[None]:
    """The other way round, for the command: `flags` by field."""
    with _rewording(lambda text: re.sub(r"`(\w+)`", lambda name: flags.get(name[1], name[0]), text)):
        yield


@contextlib.contextmanager
def _rewording(change: Callable[[str], str]) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        error.args = (change(str(error)),)
        raise
