"""JSON that somebody else wrote: whatever is wrong with it becomes one line."""

import json
from typing import Any

from models_tf.errors import InputError


def parse_json(text: str | bytes, expected: str) -> Any:
    """The value of `text`; `expected` begins the message, as `config.json must be JSON.`"""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise InputError(f"{expected} Received: lists or objects nested too deeply.") from error
    except ValueError as error:  # not JSON, not UTF-8, or a number of thousands of digits
        raise InputError(f"{expected} Received: {str(error).partition(';')[0]}.") from error
