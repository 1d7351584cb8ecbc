"""The projection op in plain Python: the oracle of all compiled implementations, usable without any library.

Written to be read, from the definitions and not from the C++ core: the two share only the generated
Unicode tables. Gives nested lists, no arrays, and is a few hundred times slower than the core.
"""

import bisect
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from models_tf.ops.projection.config import ProjectionConfig
from models_tf.ops.projection.unicode_tables import ALPHABETIC, LOWER_CASE

Row = list[float]

MASK = 0xFFFFFFFFFFFFFFFF
M = 0xC6A4A7935BD1E995
M2 = 0x9E3779B97F4A7835
GOLDEN = 0x9E3779B97F4A7C15
TERNARY = (0, 1, -1, 0)
INT8_SCALE = 8
NULL, BOS, EOS = "<null>", "<BOS>", "<EOS>"
LEAD_BYTES = ((0xC2, 0xDF, 2), (0xE0, 0xEF, 3), (0xF0, 0xF4, 4))  # first, last, bytes of the sequence

LOWER = {code: code + delta for first, last, step, delta in LOWER_CASE for code in range(first, last + 1, step)}
ALPHABETIC_STARTS = [first for first, _ in ALPHABETIC]
# A pattern of 1, 2 or 3 characters, three times or more. Spaces and digits do not count, nor do invalid
# bytes, which stand in the text as the surrogates U+DC80..U+DCFF.
REPETITIONS = [re.compile(rf"([^ 0-9\udc80-\udcff]{{{length}}})\1{{2,}}") for length in (1, 2, 3)]


def project(
    config: ProjectionConfig, texts: Sequence[str | bytes], seed: int = 0, dtype: str = "int8"
) -> tuple[list[list[Row]], list[int]]:
    """Features [batch][rows][feature_size], padded with zeros, and the lengths [batch]."""
    batch = [project_text(config, text, row_seed(seed, i), dtype) for i, text in enumerate(texts)]
    lengths = [len(rows) for rows in batch]
    padded = config.pad_to or max(lengths, default=0)
    for rows in batch:
        rows.extend([0] * config.feature_size for _ in range(padded - len(rows)))
    return batch, lengths


def project_text(config: ProjectionConfig, text: str | bytes, seed: int = 0, dtype: str = "int8") -> list[Row]:
    """One row for each token and tag of one text."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    tokens = split(config, normalize(config, limit_bytes(config, data)))
    words = []  # (what is hashed, first_cap, all_caps)
    for i, token in enumerate(tokens):
        word, first_cap, all_caps = lower_and_filter(config, token)
        if config.distortion:
            word = distort(word, config.distortion, RandomStream(row_seed(seed, i)))
        words.append((word or NULL, first_cap, all_caps))
    if config.add_bos:
        words.insert(0, (BOS, False, False))
    if config.add_eos:
        words.append((EOS, False, False))

    size = config.feature_size
    hashed = size // 2 if config.features == "mixed" else size
    seen: Counter[int] = Counter()
    rows = []
    for word, first_cap, all_caps in words:
        codes = hash_codes(config, word, hashed)
        row: Row = list(expand(codes, hashed))
        if config.features == "mixed":
            row += trigram_sums(word, size - hashed)
        if config.word_novelty_bits:
            row[size - 1] = stored(min(seen[codes[0]] / 2**config.word_novelty_bits, 1) * 2 - 1, dtype)
            seen[codes[0]] += 1
        if config.doc_size_levels:
            row[size - 2] = stored(document_size(len(tokens), config.doc_size_levels), dtype)
        if config.first_cap_feature:
            row[size - 3] = 1 if first_cap else -1
        if config.all_caps_feature:
            row[size - 4] = 1 if all_caps else -1
        if config.presence_feature:
            row[0] = 1
        rows.append(row)
    return rows


def limit_bytes(config: ProjectionConfig, data: bytes) -> bytes:
    """What a zero-padded buffer of `max_bytes` bytes holds of a text, if asked for: whole characters, no NULs behind.

    Bytes that are no valid UTF-8 count by their lead bytes alone; what stands behind those is not looked at.
    """
    room = config.max_bytes
    if not room:
        return data
    data = data[:room]
    for i, byte in enumerate(data):
        if i + sequence_size(byte) > room:
            data = data[:i]
            break
    return data.rstrip(b"\0")


def sequence_size(byte: int) -> int:
    """Bytes of the UTF-8 sequence that starts with `byte`; 1 if none does."""
    for first, last, size in LEAD_BYTES:
        if first <= byte <= last:
            return size
    return 1


def normalize(config: ProjectionConfig, data: bytes) -> bytes:
    """Repetition, then spaces, then separators; each if asked for."""
    if config.normalize_repetition:
        text = data.decode("utf-8", "surrogateescape")
        for pattern in REPETITIONS:
            text = pattern.sub(r"\1\1", text)
        data = text.encode("utf-8", "surrogateescape")
    if config.normalize_spaces:
        data = re.sub(rb" +", b" ", data).strip(b" ")
    separators = set(config.token_separators.encode()) - {ord(" ")}
    if not separators:
        return data
    out = bytearray()
    for i, byte in enumerate(data):
        if byte not in separators:
            out.append(byte)
            continue
        if out and out[-1] != ord(" "):
            out += b" "
        out.append(byte)
        if byte != ord("'") and data[i + 1 : i + 2] not in (b" ", b""):
            out += b" "
    return bytes(out)


def split(config: ProjectionConfig, data: bytes) -> list[bytes]:
    limits = []
    if config.max_tokens >= 0:
        limits.append(config.max_tokens)
    if config.pad_to:
        limits.append(config.pad_to - config.add_bos - config.add_eos)
    limit = min(limits, default=len(data) + 1)
    if config.split == "characters":
        return [character.encode() for character in valid_prefix(data)[:limit]]
    if config.split == "spaces":
        return [piece for piece in data.split(b" ") if piece][:limit]
    tokens: list[bytes] = []
    for piece in data.lstrip(b" ").split(b" "):
        last = len(tokens) == limit - 1
        if piece:
            tokens.append(piece)
        if last:  # the reference looks at one piece for its last token, even if that is empty
            break
    return tokens


def valid_prefix(data: bytes) -> str:
    """The text up to the first invalid sequence."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return data[: error.start].decode()


def lower_and_filter(config: ProjectionConfig, token: bytes) -> tuple[str, bool, bool]:
    """The lower-cased characters that are kept, and whether the first alone or all of them were upper case."""
    vocabulary = {c for c in config.vocabulary if c != "\ufffd" and ord(c) not in LOWER}
    kept = []
    changed = []
    for character in valid_prefix(token):
        lower = chr(LOWER.get(ord(character), ord(character)))
        if config.vocabulary and lower not in vocabulary:
            continue
        if config.alphabetic_only and lower != " " and not is_alphabetic(lower):
            continue
        kept.append(lower)
        changed.append(lower != character)
    first_cap = changed[:1] == [True] and not any(changed[1:])
    return "".join(kept), first_cap, bool(changed) and all(changed)


def is_alphabetic(character: str) -> bool:
    i = bisect.bisect_right(ALPHABETIC_STARTS, ord(character)) - 1
    return i >= 0 and ord(character) <= ALPHABETIC[i][1]


class RandomStream:
    """splitmix64."""

    def __init__(self, seed: int) -> None:
        self.state = seed & MASK

    def next(self) -> int:
        self.state = (self.state + GOLDEN) & MASK
        return scramble(self.state)

    def uniform(self) -> float:
        return (self.next() >> 11) * 2.0**-53

    def below(self, limit: int) -> int:
        return self.next() % limit


def scramble(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def row_seed(seed: int, row: int) -> int:
    """The seed of one text of a batch, and of one token of a text."""
    return scramble((seed + (row + 1) * GOLDEN) & MASK)


def distort(word: str, probability: float, random: RandomStream) -> str:
    """With the probability given: deletes, moves or doubles one character."""
    if random.uniform() >= probability:
        return word
    kind = random.uniform()
    if kind < 1 / 3:
        if len(word) > 1:
            at = random.below(len(word))
            word = word[:at] + word[at + 1 :]
    elif kind < 2 / 3:
        if len(word) > 2:
            source = random.below(len(word))
            target = random.below(len(word) - 1)
            target += target >= source
            rest = word[:source] + word[source + 1 :]
            word = rest[:target] + word[source] + rest[target:]
    elif word:
        character = word[random.below(len(word))]
        at = random.below(len(word) + 1)
        word = word[:at] + character + word[at:]
    return word


def hash_codes(config: ProjectionConfig, word: str, features: int) -> list[int]:
    """64-bit codes, 32 features each."""
    if config.hash == "murmur":
        low, high = murmur(word.encode(), signed=config.bytes == "signed")
        return extended(low, high, features)
    if config.hash.startswith("xfixhash"):
        return xfix_hash(word.encode(), int(config.hash.removeprefix("xfixhash")), features)
    return unicode_hash(word, int(config.hash.removeprefix("unicodehash")), features)


def mix(value: int) -> int:
    return value ^ (value >> 47)


def times(a: int, b: int) -> int:
    return a * b & MASK


def murmur(data: bytes, *, signed: bool) -> tuple[int, int]:
    h1, h2 = times(len(data), M), 0
    for start in range(0, len(data), 8):
        block = data[start : start + 8]
        value = int.from_bytes(block, "little")
        if signed:  # a byte above 127 sets all bits above it
            for i, byte in enumerate(block):
                if byte > 127:
                    value |= MASK << (8 * i + 8) & MASK
        h1 ^= times(mix(times(value, M)), M) if len(block) == 8 else value
        h1 = times(h1, M)
        h2 ^= h1
    h1 = times(mix(h1), M)
    h2 ^= h1
    return mix(h1), times(mix(times(h2, M2)), M2)


def extended(low: int, high: int, features: int) -> list[int]:
    """The codes for as many features as wanted, from those for 64."""
    codes = [low, high]
    while len(codes) * 32 < features:
        a = times(mix(low), M)
        b = high ^ a
        low, high = times(mix(times(b, M2)), M2), mix(a)
        codes += [low, high]
    return codes


def xfix_hash(data: bytes, bits: int, features: int) -> list[int]:
    low, high = times(len(data), M), times(len(data), M2)
    prefix, suffix = M, M2
    codes: list[int] = []
    steps = 64 // bits
    for slot in range(1, steps * -(-features // 64)):  # the first code starts one slot late
        at = (slot - 1) % len(data)
        prefix = times(prefix << 8 | data[at], M)
        suffix = times(suffix << 8 | data[-1 - at], M2)
        low = (low << bits | prefix & (1 << bits) - 1) & MASK
        high = (high << bits | suffix & (1 << bits) - 1) & MASK
        if slot % steps == steps - 1:
            codes += [low, high]
    return codes


def unicode_hash(word: str, bits: int, features: int) -> list[int]:
    room = 2 * features // bits
    if len(word) > room:
        start = (len(word) - room) // 2
        word = word[start : start + room]
    per_code = 64 // bits
    codes = [0] * -(-2 * features // 64)
    for i, character in enumerate(word):
        top = times(ord(character), M) >> (64 - bits)
        codes[i // per_code] |= top << (bits * (i % per_code))
    return codes


def expand(codes: Iterable[int], features: int) -> list[int]:
    return [TERNARY[code >> shift & 3] for code in codes for shift in range(0, 64, 2)][:features]


def trigram_sums(word: str, features: int) -> list[int]:
    """Sums of the ternary features of all neighbouring three characters, clamped to +-127."""
    sums = [0] * features
    characters = [2, *map(ord, word), 3]
    trigrams = Counter(zip(characters, characters[1:], characters[2:], strict=False))
    for (first, second, third), count in trigrams.items():
        a = times(mix(times(first | second << 21 | third << 42, M)), M)
        codes = extended(mix(a), times(mix(times(a ^ M2, M2)), M2), features)
        sums = [total + count * value for total, value in zip(sums, expand(codes, features), strict=True)]
    return [max(-127, min(127, total)) for total in sums]


def document_size(tokens: int, levels: int) -> float:
    return min(math.log2(tokens) / levels, 1) * 2 - 1 if tokens else -1


def stored(value: float, dtype: str) -> float:
    """A value in [-1, 1] as the output holds it: exact, or times 8 and rounded half away from zero."""
    if dtype != "int8":
        return value
    return int(math.copysign(math.floor(abs(value) * INT8_SCALE + 0.5), value))
