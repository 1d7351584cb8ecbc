"""Zeros among the weights of a file, as movement pruning leaves them, and what they save in a compressed download.

Every runtime multiplies by a stored zero like any other number, so zeros save neither time nor memory. Leaves out
sparse storage: no converter here writes it, and no runtime here reads it faster.
"""

import gzip
import zlib

# Below this share a file counts as dense: int8 alone rounds some weights to zero (2 to 11 % of MiniLM-L6, most with
# briefly trained ghosts). Movement pruning to half of the kernels gives 23 %, as embeddings stay dense.
NOTABLE_SHARE = 0.15
COMPRESSION = "zlib level 9"
NOTE = (
    "Single zero weights bring no speed, since the runtimes' kernels are dense: they only make a compressed download "
    f"smaller ({COMPRESSION} of the whole file)."
)


def gzip_bytes(content: bytes) -> int:
    """What a download takes: an APK and most servers use deflate at its default level, 6."""
    return len(gzip.compress(content, 6, mtime=0))


def compressed_bytes(content: bytes) -> int:
    return len(zlib.compress(content, 9))
