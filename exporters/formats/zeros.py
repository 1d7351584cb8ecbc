"""Zeros among the weights of a file, as movement pruning leaves them, and what they save in a compressed download.

Every runtime multiplies by a stored zero like any other number, so zeros save neither time nor memory. Leaves out
sparse storage: no converter here writes it, and no runtime here reads it faster.
"""

import zlib
from typing import Any

# Below this share a file counts as dense: int8 alone rounds some weights to zero (2 to 11 % of MiniLM-L6, most with
# briefly trained ghosts). Movement pruning to half of the kernels gives 23 %, as embeddings stay dense.
NOTABLE_SHARE = 0.15
_GZIP = 16  # zlib's mark for its header and sum
_PIECE_BYTES = 1 << 20
COMPRESSION = "zlib level 9"
NOTE = (
    "Single zero weights bring no speed, since the runtimes' kernels are dense: they only make a compressed download "
    f"smaller ({COMPRESSION} of the whole file)."
)


def gzip_bytes(content: bytes) -> int:
    """What a download takes: an APK and most servers use deflate at its default level, 6."""
    return _size(content, zlib.compressobj(6, wbits=zlib.MAX_WBITS | _GZIP))


def compressed_bytes(content: bytes) -> int:
    return _size(content, zlib.compressobj(9))


def _size(content: bytes, compressor: Any) -> int:
    """Counted piece by piece: of a large file all of it would be one more copy."""
    whole = memoryview(content)
    starts = range(0, len(whole), _PIECE_BYTES)
    return sum(len(compressor.compress(whole[start : start + _PIECE_BYTES])) for start in starts) + len(
        compressor.flush()
    )
