"""Many zeros among the weights of a file, as movement pruning leaves them: what a compressed download makes of them.

Kernels of every runtime multiply by a stored zero as by any other number, so zeros bring neither speed nor memory. Leaves
out sparse storage: no converter here writes it, and no runtime here reads it faster.
"""

import zlib

# Below this share a file is as good as dense: int8 alone rounds some weights to zero (2 to 11 % of MiniLM-L6, most where
# ghosts were trained briefly). Movement pruning to half of the kernels gives 23 %, as embeddings stay dense.
NOTABLE_SHARE = 0.15
COMPRESSION = "zlib level 9"
NOTE = (
    "Single zero weights bring no speed, since the runtimes' kernels are dense: they only make a compressed download "
    f"smaller ({COMPRESSION} of the whole file)."
)


def compressed_bytes(content: bytes) -> int:
    return len(zlib.compress(content, 9))
