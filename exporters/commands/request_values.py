"""From parsed flags to the fields of a request: they have the same names, and a flag that was not given is left out."""

import argparse
import dataclasses
from typing import Any


def request_values(options: argparse.Namespace, kind: type) -> dict[str, Any]:
    """The fields of the request class `kind` that have a flag with a value."""
    names = [field.name for field in dataclasses.fields(kind)]
    return {name: getattr(options, name) for name in names if getattr(options, name, None) is not None}
