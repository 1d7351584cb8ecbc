"""Text of files and users inside of Markdown: shown as it is, and nothing in it is taken for markup.

Entities and not backslashes: a backslash before a bar does not keep a table whole if the text itself ends with one.
"""

import re

from exporters.console.cleaning import clean_line

# An underscore inside of a word is no markup in Markdown as hubs render it, and file names have many.
_MARKUP = re.compile(r"[\\`*{}\[\]<#|~&$!]|^>|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def markdown_text(text: str) -> str:
    """One line of text, for a table cell, a list or a paragraph."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", clean_line(text))


def markdown_code(text: str) -> str:
    """The same as code, where also a name after an @ is left alone."""
    return f"<code>{markdown_text(text)}</code>"
