"""Turns parsed flags into request fields of the same names. Flags that were not given are left out."""

import argparse
import dataclasses
from typing import Any


def request_values(options: argparse.Namespace, kind: type) -> dict[str, Any]:
    """The fields of the request class `kind` whose flag has a value."""
    names = [field.name for field in dataclasses.fields(kind)]
    return {name: getattr(options, name) for name in names if getattr(options, name, None) is not None}
