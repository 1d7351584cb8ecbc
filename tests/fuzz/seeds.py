"""What the fuzzer starts from: the golden vectors and generated strings as inputs, and the words of a config."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from models_tf.ops.projection import config as config_module
from models_tf.ops.projection.config import ProjectionConfig
from support import projection_strings

GOLDEN = Path(config_module.__file__).with_name("golden.json")
LONGEST_BYTES = 512
SPLIT = b"\x1f"
# Numbers at the bounds of the settings, and beside them.
_NUMBERS = ("-1", "0", "1", "2", "7", "8", "15", "16", "17", "512", "4096", "4098", "1048576", "1048577", "2147483648")
# What the fuzzer found: each stays a seed.
_FOUND = (
    b"<\x0bprojection1:distortion=1" + 65 * b"0" + b"\na",  # was written as 1e+65, which could not be read again
    b"]\0projection1:token_separators=1;split=characters\n11111111",  # more tokens than bytes
)


def write_corpus(folder: Path) -> int:
    """One file for each golden case and for some generated strings; returns how many."""
    folder.mkdir(parents=True)
    inputs = sorted({data[:LONGEST_BYTES] for data in (*_FOUND, *_golden(), *_generated())})
    for number, data in enumerate(inputs):
        (folder / f"{number:04}").write_bytes(data)
    return len(inputs)


def write_dictionary(path: Path) -> None:
    """Words that a mutation puts in whole."""
    words = [
        "projection1:",
        ";",
        "=",
        "%C3%A9",
        "%00",
        "\\x1f",
        "\\xed\\xa0\\x80",
        "\\xf0\\x9f\\x98\\x80",
        "\\xcc\\x81",
    ]
    settings = (pair.partition("=") for pair in ProjectionConfig().to_text().partition(":")[2].split(";"))
    words += [f"{name}=" for name, _, _ in settings]
    words += ["words", "mixed", "murmur", "xfixhash8", "xfixhash16", "xfixhash32", "unicodehash8", "unicodehash16"]
    words += ["unsigned", "signed", "spaces", "spaces_compatible", "characters", *_NUMBERS]
    path.write_text("".join(f'"{word}"\n' for word in words))


def as_input(config: ProjectionConfig, texts: list[bytes], *, flags: int, seed: int) -> bytes:
    """As fuzz_case.h reads it; a config text has no newline."""
    some = texts[: 1 + (flags & 3)]
    flags = flags & ~3 | len(some) - 1
    return bytes([flags & 255, seed & 255]) + config.to_text().encode() + b"\n" + SPLIT.join(some)


def _golden() -> Iterator[bytes]:
    document = json.loads(GOLDEN.read_bytes())
    cases = [case for group in document.values() if isinstance(group, list) for case in group]
    for number, case in enumerate(cases):
        texts = case.get("texts") or [case.get("text", case.get("token", ""))]
        config = ProjectionConfig.from_dict(case["config"])
        yield as_input(config, [_bytes(text) for text in texts], flags=number, seed=case.get("seed", 0))


def _bytes(text: Any) -> bytes:
    if isinstance(text, str):
        return text.encode()
    if "hex" in text:
        return bytes.fromhex(text["hex"])
    return text["repeat"][0].encode() * text["repeat"][1]


def _generated() -> Iterator[bytes]:
    rng = random.Random(16)
    for seed, config, texts in projection_strings.cases():
        for flags in range(0, 64, 5):
            yield as_input(config, rng.sample(texts, 4), flags=flags, seed=seed)
