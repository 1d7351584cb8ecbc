"""Turns what the `tokenizers` package raises over somebody's files into one line."""

import contextlib
from collections.abc import Iterator

from models_tf.errors import InputError

_PANIC = "PanicException"  # of Rust: it can be neither imported nor caught as an Exception


@contextlib.contextmanager
def refused_as(expected: str) -> Iterator[None]:
    """Whatever is raised inside is an InputError that begins with `expected`."""
    try:
        yield
    except InputError:
        raise
    except BaseException as error:  # `tokenizers` raises nothing more specific than Exception, and panics
        if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
            raise
        received = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{expected} Received: {received}.") from error
