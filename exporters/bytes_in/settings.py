"""`BytesIn`: a projection that a graph of builtin operators can compute, and the sizes of that graph."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from exporters.bytes_in.tables import CharacterTable, character_table
from models_tf.errors import InputError
from models_tf.ops.projection.config import ProjectionConfig

# The last three bytes may hold a character that is cut; a text of fewer than 16 bytes is hardly one.
MIN_BYTES = 16
# A graph takes memory for this many bytes of text; 65536 are more than the longest model reads.
MAX_BYTES = 65_536
BLOCK = 8  # bytes that murmur takes at once
CODE_FEATURES = 32  # of a 64-bit number
_GRAIN = 4  # features in a byte of a hash
# What the graph expresses with any value is not named here; of the others, the one value that it does.
_FIXED = {
    "hash": "murmur",
    "bytes": "unsigned",
    "split": "spaces",
    "max_tokens": -1,
    "normalize_repetition": False,
    "add_bos": False,
    "add_eos": False,
    "word_novelty_bits": 0,
    "doc_size_levels": 0,
    "first_cap_feature": False,
    "all_caps_feature": False,
    "distortion": 0.0,
}


def unsupported(config: ProjectionConfig) -> list[str]:
    """The settings that builtin operators cannot express, as `name=value`; empty if there are none."""
    found = [
        f"{name}={getattr(config, name)}" for name, expected in _FIXED.items() if getattr(config, name) != expected
    ]
    hashed = config.feature_size // 2 if config.features == "mixed" else config.feature_size
    if hashed % _GRAIN:
        found.append(f"feature_size={config.feature_size}")
    return found


@dataclass(frozen=True, kw_only=True)
class BytesIn:
    """The projection with `pad_to` tokens of at most `max_bytes` bytes."""

    config: ProjectionConfig

    def __post_init__(self) -> None:
        refused = unsupported(self.config)
        if refused:
            raise InputError(
                "A bytes-in graph cannot express the projection setting"
                f"{'s' if len(refused) > 1 else ''} {', '.join(refused)}. "
                "Export the other graphs: --graphs features,text."
            )
        if not MIN_BYTES <= self.config.max_bytes <= MAX_BYTES:
            raise InputError(
                f"--max-bytes must be {MIN_BYTES} to {MAX_BYTES} for a bytes-in graph. "
                f"Received: {self.config.max_bytes}."
            )

    @property
    def max_bytes(self) -> int:
        return self.config.max_bytes

    @property
    def tokens(self) -> int:
        return self.config.pad_to

    @property
    def mixed(self) -> bool:
        return self.config.features == "mixed"

    @property
    def hashed(self) -> int:
        """Features of one hash: those of the word, and as many of its trigrams in mixed rows."""
        return self.config.feature_size // 2 if self.mixed else self.config.feature_size

    @property
    def characters(self) -> CharacterTable:
        return character_table(self.config)

    def blocks(self, characters: CharacterTable) -> int:
        """At most so many blocks of 8 bytes hold all words, each of which starts a new one."""
        most = self.max_bytes * 3 // 2 if characters.growth else self.max_bytes  # 2 bytes may become 3
        return (most + (BLOCK - 1) * min(self.tokens, self.max_bytes)) // BLOCK + 1


def default_max_bytes(tokens: int, texts: Iterable[bytes]) -> int:
    """Room for what is read of each text, in steps of 64 bytes: from 8 bytes for each token, which ordinary English
    hardly fills, up to 16, so that one odd text does not make the graph of all others large.
    """
    needed = max((bytes_read(text, tokens) for text in texts), default=0)
    return min(-(-max(min(needed, 16 * tokens), 8 * tokens) // 64) * 64, MAX_BYTES)


def bytes_read(text: bytes, tokens: int) -> int:
    """The end of the last word among so many; separators make more tokens, never fewer."""
    found = re.finditer(rb"[^ ]+", text)
    return max((match.end() for match in itertools.islice(found, tokens)), default=0)
