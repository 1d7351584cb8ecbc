"""Checks of single fields, which all parts share. Every error of a config is a ValueError."""

from collections.abc import Iterable
from typing import Any


def is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def check_whole(config: Any, name: str, low: int, high: int) -> None:
    value = getattr(config, name)
    if not is_whole(value) or not low <= value <= high:
        raise ValueError(f"`{name}` must be a whole number from {low} to {high}. Received: {value!r}.")


def check_flags(config: Any, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, bool):
            raise ValueError(f"`{name}` must be true or false. Received: {value!r}.")  # noqa: TRY004


def check_choice(config: Any, name: str, choices: Iterable[str]) -> None:
    value = getattr(config, name)
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(choices)}. Received: {value!r}.")


def check_number(config: Any, name: str, low: float, high: float) -> None:
    value = getattr(config, name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"`{name}` must be {low} to {high}. Received: {value!r}.")


def as_tuple(config: Any, name: str) -> tuple[Any, ...]:
    """The field as a tuple, which it then is: JSON has lists."""
    object.__setattr__(config, name, tuple(getattr(config, name)))
    return getattr(config, name)
