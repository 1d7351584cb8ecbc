"""Values that no reader expects, and JSON that no writer writes."""

import json
import random
from typing import Any

NUMBERS = (
    0, -1, 1, 2, 7, -(2**31), 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30, 10**400, 0.5, -0.0,
    1e-45, 1e308, -1e308, 1e-12, float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
TEXTS = (
    "", " ", "0", "-1", "1e9", "true", "null", "bert", "../../etc/passwd", "/dev/zero", "a" * 300, "é", "日本", "\0",
    "\n", "\t|", "\x1b[31mred\x1b[0m", "\x9b31m", "<script>alert(1)</script>", "[x](http://evil.example)",
    "]]>", "&amp;", "%s%n", "${HOME}", "\u202eabc", "::error::x", "\ud800",
)  # fmt: skip


def number(rng: random.Random) -> int | float:
    return rng.choice(NUMBERS) if rng.random() < 0.8 else rng.randrange(-1000, 100_000)


def text(rng: random.Random) -> str:
    return rng.choice(TEXTS)


def wrong_value(rng: random.Random, present: Any = None) -> Any:
    """Something else than what is there: often of the same type, so that it passes the first look."""
    if isinstance(present, int | float) and rng.random() < 0.6:
        wide = float(present) if abs(present) < 1e300 else float("inf")  # an int may be beyond every float
        return rng.choice((number(rng), present + 1, present - 1, present * 2, present // 2, -present, wide))
    if isinstance(present, list) and present and rng.random() < 0.6:
        return rng.choice((present[:-1], [*present, present[0]], present[::-1], [number(rng) for _ in present], []))
    if isinstance(present, dict) and present and rng.random() < 0.6:
        changed = dict(present)
        changed[rng.choice(list(changed))] = wrong_value(rng)
        return changed
    return rng.choice(
        (
            None,
            True,
            False,
            number(rng),
            number(rng),
            text(rng),
            text(rng),
            [],
            {},
            [number(rng)],
            [text(rng)],
            {"a": number(rng)},
            [[]],
            [None] * 3,
            {"": {}},
            [number(rng)] * 100,
        )
    )


def document_bytes(document: Any) -> bytes:
    """JSON with NaN, infinities, long numbers and lone surrogates as they are."""
    return json.dumps(document, ensure_ascii=True, allow_nan=True).encode()


def flip(rng: random.Random, content: bytes, most: int = 8) -> bytes:
    """Some bytes are other ones."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, most)):
        if changed:
            changed[rng.randrange(len(changed))] = rng.choice((0, 0xFF, 0x80, 0x7F, rng.randrange(256)))
    return bytes(changed)


def damage(rng: random.Random, content: bytes) -> tuple[str, bytes]:
    """Damage that needs no knowledge of the format, and its name."""
    place, other = sorted((rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)))
    cut = content[:place]
    return rng.choice(
        (
            ("bytes changed", flip(rng, content)),
            ("cut", cut),
            ("empty", b""),
            ("a part is missing", cut + content[other:]),
            ("a part twice", content[:other] + content[place:]),
            ("zeros within", cut + bytes(other - place) + content[other:]),
            ("bytes inserted", cut + rng.randbytes(rng.randint(1, 64)) + content[place:]),
            ("bytes after the end", content + rng.randbytes(rng.randint(1, 4096))),
            ("random bytes", rng.randbytes(len(content) % 100_000)),
        )
    )
