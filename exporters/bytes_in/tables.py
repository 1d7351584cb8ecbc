"""The tables of a bytes-in graph: what each byte is, what each character becomes, what each byte of a hash means.

Pure functions that give arrays. The Unicode tables are those of the projection op.
"""

import functools
from dataclasses import dataclass

import numpy as np

from models_tf.ops.projection import reference
from models_tf.ops.projection.config import ProjectionConfig

PAGE = 64
MAX_CODE = 0x10FFFF
_SMALL = 256  # a table of fewer different values is one of bytes
# Strict UTF-8: what may follow a lead byte, where it is not any continuation byte (Unicode 14, table 3-7).
_SECOND_BYTES = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}
# By the length of a sequence, 0 for a byte that starts none. Of its lead byte and the low 6 bits of the three bytes
# behind it, written one after the other, so many bits are too many; and what the marks of the lead byte add.
EXTRA_BITS = (18, 18, 12, 6, 0)
LEAD_MARKS = (0, 0, 0xC0 << 6, 0xE0 << 12, 0xF0 << 18)


@dataclass(frozen=True, kw_only=True)
class ByteTable:
    """One value for each of the 256 bytes, all uint8."""

    solid: np.ndarray  # not a space
    separator: np.ndarray
    closes: np.ndarray  # a separator behind which a token ends
    continues: np.ndarray  # 2 for 0x80 to 0xBF, and 0
    length: np.ndarray  # of the sequence that the byte starts; 0: it starts none
    low: np.ndarray  # the second byte of the sequence is at least this
    high: np.ndarray  # and at most this


def byte_table(separators: str) -> ByteTable:
    """What the bytes are to a text with these separators."""
    values = np.arange(256)
    is_separator = np.isin(values, [byte for byte in separators.encode() if byte != ord(" ")])
    length = np.select(
        [values < 0x80, values < 0xC2, values < 0xE0, values < 0xF0, values < 0xF5], [1, 0, 2, 3, 4], default=0
    )
    low, high = np.where(length > 1, 0x80, 0), np.where(length > 1, 0xBF, 0xFF)
    for lead, (first, last) in _SECOND_BYTES.items():
        low[lead], high[lead] = first, last
    low[length == 0], high[length == 0] = 1, 0  # no byte is both
    columns = {
        "solid": values != ord(" "),
        "separator": is_separator,
        "closes": is_separator & (values != ord("'")),
        "continues": 2 * ((values >= 0x80) & (values < 0xC0)),
        "length": length,
        "low": low,
        "high": high,
    }
    return ByteTable(**{name: column.astype(np.uint8) for name, column in columns.items()})


@dataclass(frozen=True, kw_only=True)
class CharacterTable:
    """What becomes of each code point, in two steps: `page` of its upper bits, `kind` of its lower ones.

    `delta` of its kind is added to it. Kind 0 is left out. The last page stands for all code points above.
    """

    page: np.ndarray
    kind: np.ndarray
    delta: np.ndarray
    highest: int  # the largest code point that stays
    growth: bool  # whether a character may take more bytes than it came in
    filters: bool  # whether there are characters to leave out

    @property
    def limit(self) -> int:
        """The largest code point that is looked up."""
        return len(self.page) * PAGE - 1


@functools.lru_cache(maxsize=4)  # every format asks for it, and it takes a while
def character_table(config: ProjectionConfig) -> CharacterTable:
    """Lower case, and what the vocabulary or `alphabetic_only` leaves out."""
    kept = _kept(config)
    changed = [*reference.LOWER, *(code for code in kept or ())]
    top = -(-(max(changed) + 1) // PAGE) * PAGE + PAGE
    deltas: dict[int | None, int] = {None: 0}  # kind 0: left out
    kinds = np.zeros(top, np.int32)
    growth = False
    for code in range(top):
        lower = reference.LOWER.get(code, code)
        if kept is not None and lower not in kept:
            continue
        kinds[code] = deltas.setdefault(lower - code, len(deltas))
        growth = growth or _bytes(lower) > _bytes(code)
    last = int(np.flatnonzero(kinds != kinds[-1]).max()) // PAGE + 2  # pages up to the first that stands for the rest
    pages: dict[bytes, int] = {}
    index = [pages.setdefault(page.tobytes(), len(pages)) for page in kinds.reshape(-1, PAGE)[:last]]
    content = np.concatenate([np.frombuffer(page, np.int32) for page in pages])
    return CharacterTable(
        page=_narrow(np.array(index)),
        kind=_narrow(content),
        delta=np.array([delta or 0 for delta in deltas], np.int32),
        highest=max(kept) if kept else MAX_CODE,
        growth=growth,
        filters=kept is not None,
    )


def _kept(config: ProjectionConfig) -> set[int] | None:
    """The lower-case code points that stay; None for all."""
    if config.alphabetic_only:
        return {ord(" ")} | {code for first, last in reference.ALPHABETIC for code in range(first, last + 1)}
    if not config.vocabulary:
        return None
    return {ord(c) for c in config.vocabulary if c != "\ufffd" and ord(c) not in reference.LOWER}


def _bytes(code: int) -> int:
    return 1 + (code >= 0x80) + (code >= 0x800) + (code >= 0x10000)


def _narrow(values: np.ndarray) -> np.ndarray:
    return values.astype(np.uint8 if values.max() < _SMALL else np.int32)


def feature_fields() -> np.ndarray:
    """For each byte of a hash its four features, added up with weights 1, 256, 65536 and 2^24, as int32.

    Sums of such numbers hold sums of features, as long as these are within -127 and 127: add 128 to each of the four,
    and they stand in the four bytes.
    """
    values = [sum(feature << (8 * place) for place, feature in enumerate(_features(byte))) for byte in range(256)]
    return np.array(values, np.int32)


def _features(byte: int) -> list[int]:
    return [reference.TERNARY[byte >> shift & 3] for shift in (0, 2, 4, 6)]


def null_fields(features: int) -> np.ndarray:
    """The trigram features of the word that stands for an empty token, four in a number, as int32."""
    sums = np.array(reference.trigram_sums(reference.NULL, features), np.int64).reshape(-1, 4)
    packed: np.ndarray = (sums << np.array([0, 8, 16, 24])).sum(axis=1)
    return packed.astype(np.int32)
