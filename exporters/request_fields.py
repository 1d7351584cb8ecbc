"""Checks that the fields of a request have their declared types, for callers from Python.

A wrong type would otherwise surface much later, or never. numpy numbers become Python's, which JSON can hold, and text
becomes a path where one is expected.
"""

import dataclasses
import numbers
import os
import types
import typing
from pathlib import Path
from typing import Any

from models_tf.errors import InputError


def check_request(request: object, kind: type[Any]) -> None:
    """Refuse anything but a request of this kind, before its fields are read."""
    if not isinstance(request, kind):
        raise InputError(f"`request` must be of type {kind.__name__}. Received: {_shown(request)}.")


def check_fields(request: Any) -> None:
    """Convert or refuse every field of a frozen dataclass. Call it first in `__post_init__`.

    Knows str, Path, int, float, bool, tuples of these, other classes, and each of them with None. The metadata "unit"
    of a field names what its number counts.
    """
    for field in dataclasses.fields(request):
        value, kind = getattr(request, field.name), field.type
        alternatives = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
        if value is None and types.NoneType in alternatives:
            continue
        (kind,) = (each for each in alternatives if each is not types.NoneType)
        if kind is Any:
            continue
        try:
            converted = _convert(value, kind)
        except TypeError:
            unit = f" of {field.metadata['unit']}" if "unit" in field.metadata else ""
            raise InputError(f"`{field.name}` must be {_meaning(kind)}{unit}. Received: {_shown(value)}.") from None
        object.__setattr__(request, field.name, converted)


def _convert(value: Any, kind: Any) -> Any:
    """The value as `kind`; TypeError if it is not one."""
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, tuple | list):
            raise TypeError
        return tuple(_convert(item, typing.get_args(kind)[0]) for item in value)
    accepted, convert = _ACCEPTED.get(kind, (kind, lambda found: found))
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        raise TypeError
    return convert(value)


def _path(value: str | os.PathLike[str]) -> Path:
    if value == "":  # else the current folder
        raise TypeError
    return Path(value)


_LONGEST = 200
_ACCEPTED: dict[Any, tuple[Any, Any]] = {
    Path: ((str, os.PathLike), _path),
    int: (numbers.Integral, int),
    float: (numbers.Real, float),
}
_MEANINGS = {
    str: ("a text", "texts"),
    Path: ("a path", "paths"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    bool: ("true or false", "true or false"),
}


def _meaning(kind: Any) -> str:
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        return f"a list of {_MEANINGS[item][1] if item in _MEANINGS else item.__name__ + 's'}"
    return _MEANINGS[kind][0] if kind in _MEANINGS else f"a {kind.__name__}"


def _shown(value: Any) -> str:
    """On one line, shortened if long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
