"""What the `tokenizers` package thinks of each code point, found by running it.

Its Unicode tables are those of the Rust crates inside it, of several versions of Unicode; no other library has the same
ones. Leaves out composition (NFC, NFKC), which no tokenizer here uses.
"""

import functools
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tokenizers import normalizers, pre_tokenizers

POINTS = tuple(code for code in range(0x110000) if not 0xD800 <= code < 0xE000)
# Bits of a code point's grapheme class; the Hangul kind is stored above them.
ATTACHES, PREPENDS, CONTROL, EXTENDS, PICTURE, CONSONANT, LINKER, JOINS = (1 << bit for bit in range(8))
HANGUL_SHIFT = 8
L, V, T, LV, LVT = range(1, 6)
_CHUNK = 4096


@dataclass(frozen=True, kw_only=True)
class Properties:
    """Sets of code points, and mappings from code points."""

    whitespace: list[int]
    removed: list[int]  # by BertNormalizer's clean_text
    chinese: list[int]
    nonspacing: list[int]  # by BertNormalizer's strip_accents
    combining: list[int]  # by StripAccents
    punctuation: list[int]  # BertPreTokenizer's
    word: list[int]  # \w of the regex crate
    lower: dict[int, tuple[int, ...]]
    canonical: dict[int, tuple[int, ...]]  # NFD
    compatible: dict[int, tuple[int, ...]]  # NFKD, where it is not NFKD of NFD
    composed: list[int]  # what NFC makes of their decomposition again
    combining_class: dict[int, int]  # ranks, from 1: only their order matters
    grapheme: dict[int, int]


def find_properties() -> Properties:
    canonical = _changed(normalizers.NFD())
    compatible = _changed(normalizers.NFKD())
    needed = {
        code: parts
        for code, parts in compatible.items()
        if code not in canonical or parts != _through(compatible, canonical[code])
    }
    strip = normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False
    )
    split = normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=True, strip_accents=False, lowercase=False
    )
    clean = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False
    )
    whitespace = _uncovered(pre_tokenizers.WhitespaceSplit())
    found = set(whitespace)
    return Properties(
        whitespace=whitespace,
        removed=[code for code, parts in _changed(clean).items() if not parts],
        chinese=[code for code, parts in _changed(split).items() if parts],
        nonspacing=[code for code, parts in _changed(strip).items() if not parts],
        combining=[code for code, parts in _changed(normalizers.StripAccents()).items() if not parts],
        punctuation=_alone(pre_tokenizers.BertPreTokenizer()),
        word=[code for code in _within(pre_tokenizers.Whitespace()) if code not in found],
        lower=_changed(normalizers.Lowercase()),
        canonical=canonical,
        compatible=needed,
        composed=_composed(canonical),
        combining_class=_combining_classes(canonical),
        grapheme=_grapheme_classes(),
    )


def character_map(replacements: dict[str, str]) -> bytes:
    """SentencePiece's compiled map of a few short texts: a double array over UTF-8 bytes, then the new texts."""
    tree: dict = {}
    texts = b""
    for old, new in replacements.items():
        node = tree
        for byte in old.encode():
            node = node.setdefault(byte, {})
        node[0] = len(texts)
        texts += new.encode() + b"\0"
    units: dict[int, int] = {}
    _place(tree, 0, 0, units)
    size = (max(units) | 255) + 1
    array = struct.pack(f"<{size}I", *(units.get(i, 0) for i in range(size)))
    return struct.pack("<I", len(array)) + array + texts


def _place(node: dict, position: int, label: int, units: dict[int, int]) -> None:
    """Gives the children of a node places that no other has: a block of 256 for each node, which is simple."""
    base = max(units, default=0) // 256 * 256 + 256
    units[position] = label | (position ^ base) << 10 | (256 if 0 in node else 0)
    units[base] = 1 << 31 | node[0] if 0 in node else 0
    units.update(dict.fromkeys((base ^ byte for byte in node if byte), 0))
    for byte, child in node.items():
        if byte:
            _place(child, base ^ byte, byte, units)


def _changed(normalizer: normalizers.Normalizer) -> dict[int, tuple[int, ...]]:
    """What each code point becomes, if anything else."""
    # Line feeds in between: no normalizer here changes or joins them, but for clean_text, which takes them for spaces.
    changed = {}
    mark = normalizer.normalize_str("\n")
    kept = [code for code in POINTS if chr(code) not in "\n "]
    for start in range(0, len(kept), _CHUNK):
        codes = kept[start : start + _CHUNK]
        pieces = normalizer.normalize_str("\n".join(map(chr, codes))).split(mark)
        if len(pieces) != len(codes):  # something became the mark itself: one by one
            pieces = [normalizer.normalize_str(chr(code)) for code in codes]
        for code, piece in zip(codes, pieces, strict=True):
            if piece != chr(code):
                changed[code] = tuple(map(ord, piece))
    return changed


def _through(mapping: dict[int, tuple[int, ...]], parts: Iterable[int]) -> tuple[int, ...]:
    return tuple(new for part in parts for new in mapping.get(part, (part,)))


def _pieces(splitter: pre_tokenizers.PreTokenizer) -> Iterable[tuple[Sequence[int], list[tuple[int, int]]]]:
    """Code points with an x before and after each, and the spans that they are split into."""
    for start in range(0, len(POINTS), _CHUNK):
        codes = POINTS[start : start + _CHUNK]
        text = "x" + "".join(chr(code) + "x" for code in codes)
        yield codes, [span for _, span in splitter.pre_tokenize_str(text)]


def _uncovered(splitter: pre_tokenizers.PreTokenizer) -> list[int]:
    found = []
    for codes, spans in _pieces(splitter):
        covered = bytearray(2 * len(codes) + 1)
        for start, end in spans:
            covered[start:end] = b"\1" * (end - start)
        found += [code for i, code in enumerate(codes) if not covered[2 * i + 1]]
    return found


def _alone(splitter: pre_tokenizers.PreTokenizer) -> list[int]:
    found = []
    for codes, spans in _pieces(splitter):
        single = {start for start, end in spans if start % 2 and end == start + 1}
        found += [code for i, code in enumerate(codes) if 2 * i + 1 in single]
    return found


def _within(splitter: pre_tokenizers.PreTokenizer) -> list[int]:
    apart = set(_alone(splitter))
    return [code for code in POINTS if code not in apart]


def _composed(canonical: dict[int, tuple[int, ...]]) -> list[int]:
    nfc = normalizers.NFC()
    return [code for code, parts in canonical.items() if nfc.normalize_str("".join(map(chr, parts))) == chr(code)]


def _combining_classes(canonical: dict[int, tuple[int, ...]]) -> dict[int, int]:
    nfd = normalizers.NFD()

    def swaps(first: int, second: int) -> bool:
        return nfd.normalize_str(chr(first) + chr(second)) == chr(second) + chr(first)

    # U+0334 has the lowest class, U+0345 the highest: a mark changes places with one of the two.
    low, high = 0x334, 0x345
    kept = [code for code in POINTS if code not in canonical]
    text = nfd.normalize_str("".join(f"\n{chr(code)}{chr(low)}\n{chr(high)}{chr(code)}" for code in kept)).split("\n")[
        1:
    ]
    if len(text) == 2 * len(kept) + 2:  # the line feed itself
        at = kept.index(10)
        del text[2 * at : 2 * at + 4], kept[at]
    marks = [
        code
        for i, code in enumerate(kept)
        if text[2 * i] == chr(low) + chr(code) or text[2 * i + 1] == chr(code) + chr(high)
    ]
    marks = sorted({*marks, low, high}, key=functools.cmp_to_key(lambda a, b: swaps(a, b) - swaps(b, a)))
    ranks, rank = {}, 0
    for before, code in zip([None, *marks], marks, strict=False):
        rank += before is None or swaps(code, before)
        ranks[code] = rank
    return ranks


def _grapheme_classes() -> dict[int, int]:
    """Classes as Precompiled shows them: a cluster below 6 bytes is replaced as a whole, a longer one by characters.

    A mapped character that is followed by a mark (U+0300) swallows the mark if and only if a cluster starts at it.
    Whatever this cannot show (pairs of regional indicators) makes no difference to Precompiled either.
    """
    mapped = {"a": "A", "\u0600": "P", "\xa9": "C", "\u0916": "K", "\u1160": "V", "\u11a8": "T", "\u1100": "L"}
    normalize = normalizers.Precompiled(character_map(mapped)).normalize_str
    codes = [code for code in POINTS if code not in (10, 13) and chr(code) not in mapped]

    def shows(before: str, after: str, expected: Callable[[str], str]) -> set[int]:
        pieces = normalize("\n".join(before + chr(code) + after for code in codes)).split("\n")
        return {code for code, piece in zip(codes, pieces, strict=True) if piece == expected(chr(code))}

    mark, virama = "\u0300", "\u094d"
    attaches = shows("a", "", lambda _: "A")
    control = shows("\u0600", "", lambda c: "P" + c)
    control = {code for code in control if code < 0x10000 and code not in attaches}
    prepends = shows("", "a" + mark, lambda c: c + "A" + mark)
    # Not boundaries: what follows keeps its mark, what comes before keeps its parts.
    to_v = shows("", "\u1160" + mark, lambda c: c + "V" + mark) - prepends
    to_t = shows("", "\u11a8" + mark, lambda c: c + "T" + mark) - prepends
    to_l = shows("", "\u1100" + mark, lambda c: c + "L" + mark) - prepends
    from_l = shows("\u0600\u1100", "", lambda c: "PL" + c) - attaches
    from_v = shows("\u0600\u1160", "", lambda c: "PV" + c) - attaches
    from_t = shows("\u0600\u11a8", "", lambda c: "PT" + c) - attaches
    picture = shows("\xa9\u200d", "", lambda c: "C\u200d" + c) - attaches
    extends = shows("\u2764", "\u200d\xa9" + mark, lambda c: "\u2764" + c + "\u200dC" + mark) & attaches
    consonant = shows("", virama + "\u0916" + mark, lambda c: c + virama + "K" + mark) - prepends
    linker = shows("\u0915", "\u0916" + mark, lambda c: "\u0915" + c + "K" + mark) & attaches
    joins = shows("\u0915" + virama, "\u0916" + mark, lambda c: "\u0915" + virama + c + "K" + mark) & attaches
    found: dict[int, int] = {10: CONTROL, 13: CONTROL}
    for bit, members in (
        (ATTACHES, attaches), (PREPENDS, prepends), (CONTROL, control), (EXTENDS, extends), (PICTURE, picture),
        (CONSONANT, consonant), (LINKER, linker), (JOINS, joins),
    ):  # fmt: skip
        for code in members:
            found[code] = found.get(code, 0) | bit
    for code in (to_v | to_t | to_l | from_l | from_v | from_t) - attaches:
        shape = (code in to_l, code in to_v, code in to_t, code in from_l, code in from_v, code in from_t)
        kind = _HANGUL.get(shape)
        if kind is None:
            message = f"U+{code:04X} must be a known kind of Hangul. Received: {shape}."
            raise AssertionError(message)
        found[code] = found.get(code, 0) | kind << HANGUL_SHIFT
    found |= {0x61: 0, 0x600: PREPENDS, 0xA9: PICTURE, 0x916: CONSONANT}
    found |= {0x1160: V << HANGUL_SHIFT, 0x11A8: T << HANGUL_SHIFT, 0x1100: L << HANGUL_SHIFT}
    return {code: bits for code, bits in found.items() if bits}


# (joined to a following L, V, T; joined to a preceding L, V, T)
_HANGUL = {
    (True, True, False, True, False, False): L,
    (False, True, True, True, True, False): V,
    (False, False, True, False, True, True): T,
    (False, True, True, True, False, False): LV,
    (False, False, True, True, False, False): LVT,
}
