"""Generated requests for comparing tokenizers, the same in every run.

All planes of Unicode, controls, halves of surrogate pairs, marks in any order, clusters of every kind, Hangul, Chinese,
special tokens in the text, long words, nothing at all; and at the end of the list a megabyte.
"""

import random
from collections.abc import Sequence

from support.tokenizers_elsewhere import ENCODE, KINDS, PAIR, PIECES, WORDS, Request, as_utf16

# (first, last) of ranges that matter by themselves; every plane is drawn from as well.
_RANGES = (
    (0x00, 0x1F), (0x20, 0x7E), (0x7F, 0xFF), (0x100, 0x24F), (0x300, 0x36F), (0x370, 0x52F), (0x591, 0x6FF),
    (0x900, 0x97F), (0x980, 0xDFF), (0xF00, 0xFFF), (0x1100, 0x11FF), (0x1AB0, 0x1AFF), (0x1C80, 0x1CBF),
    (0x1DC0, 0x1FFF), (0x2000, 0x206F), (0x20D0, 0x20FF), (0x2100, 0x218F), (0x2460, 0x24FF), (0x3000, 0x30FF),
    (0x3130, 0x33FF), (0x4E00, 0x9FFF), (0xA640, 0xA7FF), (0xAC00, 0xD7A3), (0xD800, 0xDFFF), (0xE000, 0xF8FF),
    (0xF900, 0xFAFF), (0xFB00, 0xFDFF), (0xFE00, 0xFFFF), (0x10400, 0x104FF), (0x11000, 0x110FF),
    (0x1D100, 0x1D1FF), (0x1D400, 0x1D7FF), (0x1E900, 0x1E95F), (0x1F1E6, 0x1F1FF), (0x1F300, 0x1FAFF),
    (0x2F800, 0x2FA1F), (0xE0000, 0xE01EF),
)  # fmt: skip
# Parts of grapheme clusters: marks, joiners, prepended signs, consonants with viramas, jamo, pictures.
_CLUSTERS = (
    "a", "\r", "\n", "\u0300", "\u0323", "\u0345", "\u0334", "\u0344", "\u0f73", "\u0f71", "\u0600", "\u0903",
    "\u0915", "\u094d", "\u0916", "\u093c", "\u0b95", "\u0bcd", "\u1100", "\u1161", "\u11a8", "\uac00", "\uac01",
    "\xa9", "\u200d", "\u2764", "\ufe0f", "\U0001f3fb", "\U0001f468", "\U0001f1e9", "\U0001f1ea", "\U000110bd",
    "\u0301", "\xad", "\u200c",
)  # fmt: skip
_WORDS = (
    "the", "The", "good", "film", "was", "unaffable", "don't", "naïve", "Café", "e\u0301", "İstanbul", "STRASSE",
    "ΣΊΣΥΦΟΣ", "ǅ", "Привет", "日本語", "한국어", "``", "''", "10,000", "9,", "ﬁne", "½", "Ⅷ", "ｶﾞ", "x-y", "...",
    "[SEP]", "[MASK]", "[CLS]", "[PAD]", "[UNK]", "[sep]", "[MASK", "<unk>", "<pad>", "</s>", "<mask>", "<extra_id_0>",
    "<extra_id_1>", "[unused1]", "goodness me", "GOOD", "a b", " x ", "\u2581", "\u2581the", "zz", "x1", "aab", "abba",
    "bab\u2581a", "\u3000", "\xa0", "\u200b", "\u2028", "\u0085", "\ufffd", "\x00", "\t", "\n", "\r\n", "ö", "öab",
)  # fmt: skip
_LENGTHS = (5, 6, 7, 8, 9, 12, 16, 17, 64)
MEGABYTE = 1 << 20


def character(rng: random.Random) -> str:
    if rng.random() < 0.25:
        return chr(rng.randrange(0x110000))
    return chr(rng.randint(*rng.choice(_RANGES)))


def text(rng: random.Random) -> str:
    found = ""
    for _ in range(rng.choice((0, 1, 1, 2, 3, 4, 6))):
        kind = rng.random()
        if kind < 0.45:
            found += rng.choice(_WORDS)
        elif kind < 0.65:
            found += "".join(character(rng) for _ in range(rng.randint(1, 6)))
        elif kind < 0.8:
            found += "".join(rng.choice(_CLUSTERS) for _ in range(rng.randint(1, 7)))
        elif kind < 0.88:
            found += character(rng) * rng.randint(2, 7)
        elif kind < 0.96:
            found += "".join(rng.choice("abö\u2581 ") for _ in range(rng.randint(1, 12)))
        else:
            found += rng.choice(("x", "é", "good", "日", "\u0301")) * rng.randint(95, 105)
        found += " " * rng.choice((0, 0, 1, 1, 1, 2, 3))
    if rng.random() < 0.1:
        found = found.upper() if rng.random() < 0.5 else " " + found
    return as_utf16(found)


def requests(count: int, seed: int) -> Sequence[Request]:
    """Of every kind in turn."""
    rng = random.Random(seed)
    found = []
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        texts = {ENCODE: 1, PIECES: 1, PAIR: 2, WORDS: rng.randint(0, 5)}[kind]
        found.append(Request(kind=kind, texts=tuple(text(rng) for _ in range(texts)), max_len=rng.choice(_LENGTHS)))
    return found


def long_requests() -> Sequence[Request]:
    """A megabyte each: words, one word, marks, spaces, what must be decomposed, and anything."""
    rng = random.Random(7)
    parts = ["The film was GOOD. ", "x", "e\u0323\u0301", " ", "한é", "\u0301\u0323", "日本", "[SEP]"]
    texts = [part * (MEGABYTE // len(part.encode())) for part in parts]
    texts.append(as_utf16("".join(text(rng) for _ in range(MEGABYTE // 40))))
    cut = Request(kind=ENCODE, texts=(texts[0],), max_len=64)
    return [cut, *(Request(kind=PIECES, texts=(one,)) for one in texts)]
