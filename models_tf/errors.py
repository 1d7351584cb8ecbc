"""Errors about what the user gave us: files, columns, labels, settings, checkpoints.

Messages are written in flags (`--max-seq-len`). Callers from Python get them in fields: `naming_fields`.
"""

import contextlib
import re
from collections.abc import Iterator

# As they stand in a sentence; not inside of names, paths and quoted values, and not as part of a command.
_FLAG = re.compile(r"export-mobile \w+ --|(?<![^\s(])--([a-z][a-z0-9-]*[a-z0-9])")
# Flags whose field has another name. A field of KEY=VALUE texts ends with `overrides`, its flag with `set`.
_FIELDS = {
    "max-size": "max_size_bytes",
    "max-latency": "max_latency_ms",
    "set": "overrides",
    "no-runtime": "runtime",
    "limit": "models_tf.limits.override",
}


class InputError(ValueError):
    """One line for the user: what was expected, what was received, what to do."""

    as_written: str = ""  # the message in flags, after it was reworded


def field_of(flag: str) -> str:
    """The field of a request that a flag sets."""
    name = flag.removeprefix("--")
    return _FIELDS.get(name, re.sub("-set$", "-overrides", name).replace("-", "_"))


@contextlib.contextmanager
def naming_fields() -> Iterator[None]:
    """An InputError raised inside names fields in place of flags. Around the requests and functions of the API."""
    try:
        yield
    except InputError as error:
        error.as_written = error.as_written or str(error)
        text = _FLAG.sub(lambda flag: f"`{field_of(flag[1])}`" if flag[1] else flag[0], str(error))
        error.args = (text,)
        raise


@contextlib.contextmanager
def naming_flags() -> Iterator[None]:
    """An InputError raised inside names flags again. Around a command."""
    try:
        yield
    except InputError as error:
        error.args = (error.as_written or str(error),)
        raise
