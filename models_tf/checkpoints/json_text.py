"""JSON that somebody else wrote, within the limits: whatever is wrong with it becomes one line.

Every document is read here; other JSON is what our own processes say to each other.
"""

import json
from pathlib import Path
from typing import Any

from models_tf import limits
from models_tf.bounded_files import read_document
from models_tf.errors import InputError


def read_json_file(path: Path, expected: str = "") -> Any:
    """The value of a file, at most `document_bytes` long; `expected` begins the message, else `path must be JSON.`"""
    return parse_json(read_document(path), expected or f"{path} must be JSON.")


def parse_json(text: str | bytes, expected: str) -> Any:
    """The value of `text`; `expected` begins the message, as `config.json must be JSON.`"""
    try:
        value = json.loads(text)
    except RecursionError as error:  # Python's own limit, which is above ours unless that was raised
        raise limits.exceeded("nesting", f"{expected} It must have", "too many to be read") from error
    except ValueError as error:  # not JSON, not UTF-8, or a number of thousands of digits
        raise InputError(f"{expected} Received: {str(error).partition(';')[0]}.") from error
    most = limits.value("nesting")
    # Most documents have fewer brackets than levels are allowed: then there is nothing to look for.
    if isinstance(text, str):
        brackets = text.count("[") + text.count("{")
    else:
        brackets = text.count(b"[") + text.count(b"{")
    if brackets > most and _levels(value, most) > most:
        raise limits.exceeded("nesting", f"{expected} It must have", "more")
    return value


def _levels(value: Any, most: int) -> int:
    """How deep lists and objects are nested, counted up to one more than `most`."""
    level, inside = 0, [value]
    while level <= most:
        inside = [one for one in inside if isinstance(one, dict | list)]
        if not inside:
            break
        level += 1
        inside = [one for outer in inside for one in (outer.values() if isinstance(outer, dict) else outer)]
    return level
