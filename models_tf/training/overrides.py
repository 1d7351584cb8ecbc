"""`--set KEY=VALUE` and similar flags: a value of the type that the field has."""

from collections.abc import Sequence
from typing import Any

from models_tf import registry
from models_tf.checkpoints.json_text import parse_json
from models_tf.errors import InputError

_MEANINGS = {int: "a whole number", float: "a number", bool: "true or false", list: "a list in JSON"}


def split_override(override: str) -> tuple[str, str | None]:
    """Key and text; None where there is no `=`."""
    key, separator, text = override.partition("=")
    return key, text if separator else None


def parse_value(text: str, default: Any, override: str, *, flag: str = "--set") -> Any:
    if isinstance(default, str):
        return text
    try:
        value = parse_json(text, f"{flag} {override.partition('=')[0]} must be JSON.")
    except InputError:
        value = None
    kind = type(default)
    if type(value) is not kind and not (kind is float and type(value) is int):
        meaning = _MEANINGS.get(kind, f"a value of the type {kind.__name__}")
        raise InputError(f"{flag} {override.partition('=')[0]} takes {meaning}. Received: {text}.")
    return value


def with_overrides(flag: str, values: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """`values` with what the texts KEY=VALUE of a flag change."""
    for override in overrides:
        key, text = split_override(override)
        if text is None or key not in values:
            raise InputError(
                f"{flag} must be KEY=VALUE with {', '.join(values)}. Received: {override}."
                + registry.nearest(key, tuple(values))
            )
        kind = type(values[key])
        values = {**values, key: kind(parse_value(text, values[key], override, flag=flag))}
    return values
