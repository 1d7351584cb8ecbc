"""Strings that break text code: halves of surrogate pairs, broken UTF-8, controls, marks without end, other directions.

Seeded: the same in every run.
"""

import random

# By their code points: written out, half of them would not show.
_CODES = (
    *(0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xD83D, 0xDE00, 0x1F600, 0x10000, 0x10FFFF),  # halves of pairs, and whole ones
    *(0x00, 0x01, 0x07, 0x1B, 0x7F, 0x80, 0x85, 0x9B, 0xA0, 0xAD, 0xFEFF, 0xFFFE, 0xFFFF, 0xFFFD),  # controls
    *(0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x202A, 0x202E, 0x2066, 0x2069, 0x61C, 0x2028, 0x2029),  # directions
    *(0x301, 0x323, 0x344, 0x488, 0x20DD, 0xF73, 0x1AB0, 0xE0100, 0xFE0F, 0x3099),  # marks
    *(0x1100, 0x1161, 0x11A8, 0xAC00, 0x130, 0x1E9E, 0xFB03, 0x1C5, 0x3A3, 0x3C2, 0xFDFA, 0x2126),  # cases and forms
    *(0xE0041, 0x1F1E9, 0x65E5, 0xD55C, 0x62F, 0x2581),
)
SIGNS = (*map(chr, _CODES), chr(0x1F468) + chr(0x200D) + chr(0x1F469), "[SEP]", "[MASK", "a", "B", " ", "9", "!")
BROKEN = (
    b"\x80", b"\xbf", b"\xc0\xaf", b"\xc3", b"\xe0\x9f\xbf", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x8f\xbf\xbf",
    b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xfe\xff", b"\xff\xfe",
)  # fmt: skip


def strings(count: int, seed: int = 16) -> list[str]:
    """Short ones in all mixtures, and at the end some of 20,000 characters."""
    rng = random.Random(seed)
    found = [*SIGNS, *(_decoded(part) for part in BROKEN), ""]
    while len(found) < count:
        parts = [rng.choice(SIGNS) * rng.choice((1, 1, 1, 2, 40)) for _ in range(rng.randint(1, 12))]
        if rng.random() < 0.2:
            parts.append(_decoded(rng.choice(BROKEN) + rng.randbytes(rng.randint(0, 6))))
        rng.shuffle(parts)
        found.append("".join(parts))
    huge = (chr(code) for code in (0x301, 0x202E, 0xD800, 0xAC00, 0x1F468, 0x00, 0x78, 0x20))
    return found + [sign * 20_000 for sign in huge]


def raw_bytes(count: int, seed: int = 16) -> list[bytes]:
    """The same as bytes, halves of pairs as they are, with broken UTF-8 between them."""
    rng = random.Random(seed)
    parts = [text.encode("utf-8", "surrogatepass") for text in strings(count, seed)]
    return [part + rng.choice(BROKEN) + part[:3] if rng.random() < 0.3 else part for part in parts]


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
