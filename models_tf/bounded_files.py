"""Files of others, read within the limits: a document at once, or pieces of a file that may be compressed.

What a compressed file unpacks to is counted while it is unpacked: a few bytes can stand for gigabytes.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from models_tf import limits
from models_tf.errors import InputError

PLAIN, GZIP, ZLIB = "plain", "gzip", "zlib"
PIECE = 1 << 20
# So much may come out of any file: a small one that holds little but one letter is no attack.
FREE_BYTES = 64 << 20


def what_is(path: Path) -> str:
    """For the message about a path that is no file."""
    if path.is_dir():
        return "a folder"
    return "a device, a pipe or a socket" if path.exists() else "no such file"


def read_document(path: Path) -> bytes:
    """All bytes of a small file, unpacked if its name ends in .gz; at most the limit `document_bytes`."""
    most = limits.value("document_bytes")
    parts, size = [], 0
    for piece in pieces(path, GZIP if path.suffix.lower() == ".gz" else PLAIN):
        parts.append(piece)
        size += len(piece)
        if size > most:
            more = f"{path.stat().st_size:,}" if path.suffix.lower() != ".gz" else "more"
            raise limits.exceeded("document_bytes", f"{path} must have", more)
    return b"".join(parts)


def pieces(path: Path, packing: str = PLAIN, *, kind: str = "") -> Iterator[bytes]:
    """The content of a file in pieces of at most 1 MB. `kind` names the file in messages."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(f"{path} must be a file. Received: {what_is(path)}.")
    with path.open("rb") as file:
        if packing == PLAIN:
            yield from iter(lambda: file.read(PIECE), b"")
            return
        made = 0
        try:
            for piece in _unpacked(file, packing):
                made += len(piece)
                if made > FREE_BYTES and made > limits.value("expansion") * file.tell():
                    ratio = f"{made // max(file.tell(), 1):,}"
                    raise limits.exceeded("expansion", f"{path} must unpack to", ratio)
                yield piece
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(f"{path} must be a whole {kind or packing} file. Received: {error}.") from error


def _unpacked(file: IO[bytes], packing: str) -> Iterator[bytes]:
    if packing == GZIP:
        stream = gzip.GzipFile(fileobj=file)
        yield from iter(lambda: stream.read(PIECE), b"")
        return
    inflate = zlib.decompressobj()
    read: Callable[[], bytes] = lambda: inflate.unconsumed_tail or file.read(PIECE >> 4)  # noqa: E731
    while not inflate.eof:
        packed = read()
        if not packed:
            raise EOFError("a compressed stream that is cut off")
        piece = inflate.decompress(packed, PIECE)
        if piece:
            yield piece
