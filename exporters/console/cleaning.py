"""What may reach a terminal: the one place where text of files and users is made harmless.

Headers, tensor names, labels and paths may hold control characters and escape sequences that move the cursor, color the
window or reverse the reading order. They are shown as escapes, and a line is cut where no reader would go on. A log is
also read by a CI server, which obeys commands in it.
"""

import re

LONGEST_LINE = 2000
# C0 but for the tab, DEL, C1; the marks, embeddings, overrides and isolates of text that runs both ways; the separators
# of lines and paragraphs, which some terminals obey; surrogates, which stand for bytes that are not UTF-8.
_UNSAFE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# `::error::x` at the start of a line, behind spaces, too; `##[error]x` and `##vso[...]` anywhere in it.
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|#(?=#\w*\[)", re.MULTILINE)


def clean_line(text: str) -> str:
    """`text` on one line, which is cut if it is too long."""
    shown = _UNSAFE.sub(_escape, text[:LONGEST_LINE])
    return shown if len(text) <= LONGEST_LINE else f"{shown}… ({len(text):,} characters)"


def clean(text: str) -> str:
    """The same for each of several lines of a log."""
    return without_commands("\n".join(map(clean_line, text.split("\n"))))


def without_commands(text: str) -> str:
    """Lines that no CI server obeys: the first sign of a command is shown as an escape."""
    return _COMMAND.sub(lambda found: "\\x23" if found[1] is None else f"{found[1]}\\x3a", text)


def clean_json(text: str) -> str:
    r"""JSON that means the same: inside of its strings, a character may always be written as \uXXXX."""
    shown = _UNSAFE.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)
    return _COMMAND.sub(lambda found: "\\u0023" if found[1] is None else found[0], shown)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
