"""Lines of text files, plain or .gz, read in pieces: no line is longer than the limit `line_bytes`."""

import io
from collections.abc import Iterator
from pathlib import Path

from models_tf import limits
from models_tf.bounded_files import GZIP, PLAIN, pieces, what_is
from models_tf.errors import InputError

_MARK = b"\xef\xbb\xbf"  # the byte order mark, which some editors write


def read_lines(path: Path) -> Iterator[str]:
    """Lines of a UTF-8 file with their line ends; only a line feed ends one."""
    if not path.is_file():
        raise InputError(f"Data file must exist. Received: {path} ({what_is(path)}).")
    number = 0  # of the lines that were given
    for block in _blocks(path):
        content = block.removeprefix(_MARK) if not number else block
        try:
            text, wrong = content.decode(), None
        except UnicodeDecodeError as error:
            begin = content.rfind(b"\n", 0, error.start) + 1
            text, wrong = content[:begin].decode(), error.start - begin
        yield from io.StringIO(text, newline="\n")
        number += text.count("\n")
        if wrong is not None:
            raise InputError(
                f"{path} must be UTF-8. "
                f"Received: byte 0x{content[begin + wrong]:02x} in line {number + 1}, column {wrong + 1}."
            )
    if not number and not path.stat().st_size:
        raise InputError(f"{path} must have rows. Received: an empty file.")


def _blocks(path: Path) -> Iterator[bytes]:
    """Whole lines, some thousand at a time; the last one may lack its end."""
    most = limits.value("line_bytes")
    begun: list[bytes] = []  # of a line whose end is not read yet
    size = number = 0
    for piece in pieces(path, GZIP if path.suffix.lower() == ".gz" else PLAIN):
        end = piece.rfind(b"\n") + 1
        if end:
            block = b"".join((*begun, piece[:end]))
            _check(block, path, number, most)
            number += block.count(b"\n")
            yield block
            begun, size = [], 0
        begun.append(piece[end:])
        size += len(piece) - end
        if size > most:
            raise _too_long(path, number + 1)
    if size:
        yield b"".join(begun)


def _check(block: bytes, path: Path, number: int, most: int) -> None:
    if len(block) > most:
        for at, line in enumerate(block.split(b"\n"), start=number + 1):
            if len(line) > most:
                raise _too_long(path, at)


def _too_long(path: Path, line: int) -> InputError:
    return limits.exceeded("line_bytes", f"{path} line {line} must have", "more")
