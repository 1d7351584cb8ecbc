"""Lists of numbers on one line, for JSON that people read."""

import re


def short_lists(text: str) -> str:
    """A list of numbers on one line: a row of 512 is no page of 512 lines."""
    # A line break inside of a JSON text is written as an escape, so the pattern cannot match within one.
    return re.sub(
        r"\[\n[-+\de,.\s]+\]", lambda match: "[" + ", ".join(match[0][1:-1].replace(",", " ").split()) + "]", text
    )
