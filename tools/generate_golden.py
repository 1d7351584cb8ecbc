"""Rewrites our own part of models_tf/ops/projection/golden.json with the Python reference.

Entries of source "reference" are vectors of the original implementation; they are kept as they stand and
are never generated. Entries of source "export-mobile" pin our own options. Run it only when an option is
added: a golden that changes needs a commit that says why.

    python tools/generate_golden.py
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from models_tf.ops.projection import reference  # noqa: E402  (the checkout need not be installed)
from models_tf.ops.projection.config import ProjectionConfig  # noqa: E402

GOLDEN = ROOT / "models_tf/ops/projection/golden.json"
OURS = "export-mobile"
ABOUT = (
    "texts: a string, {hex: bytes} or {repeat: [string, times]}; features: int8 rows [batch][row][column], "
    "features_float: where float output differs; rows: padded length; equal, different: pairs of [text, row]; "
    "differs_at: pair and column; zero: rows of padding; codes: hexadecimal"
)


def raw(data: bytes) -> dict[str, str]:
    return {"hex": data.hex()}


SENTENCE = "Play THE Beatles play the naïve 日本語 song"
BROKEN = raw(b"ok ab\xff\xfecd \xed\xa0\x80 \xc3 x\x00y \xf0\x9f\x98\x80!")

# name, settings, texts, seed
OWN_CASES: list[tuple[str, dict[str, Any], list[Any], int]] = [
    ("words", {"feature_size": 32}, [SENTENCE, "", "one"], 0),
    ("mixed", {"feature_size": 32, "features": "mixed"}, [SENTENCE, "a", ""], 0),
    ("mixed, signed bytes", {"feature_size": 16, "features": "mixed", "bytes": "signed"}, [SENTENCE], 0),
    ("mixed, sums are clamped", {"feature_size": 8, "features": "mixed"}, [{"repeat": ["a", 300]}], 0),
    ("mixed, wide row", {"feature_size": 264, "features": "mixed"}, ["wide"], 0),
    ("presence tells padding apart", {"feature_size": 8, "presence_feature": True, "add_eos": True}, ["a b", ""], 0),
    ("fixed rows", {"feature_size": 8, "pad_to": 4}, ["a b c d e f", "a", ""], 0),
    (
        "fixed rows keep both tags",
        {"feature_size": 8, "pad_to": 4, "add_bos": True, "add_eos": True},
        ["a b c d e f", ""],
        0,
    ),
    ("the smaller limit counts", {"feature_size": 8, "pad_to": 6, "max_tokens": 2}, ["a b c d"], 0),
    (
        "spaces split: exactly max_tokens",
        {"feature_size": 8, "max_tokens": 3, "presence_feature": True},
        ["a  b   c d", "a b"],
        0,
    ),
    (
        "all special columns",
        {
            "feature_size": 16,
            "word_novelty_bits": 2,
            "doc_size_levels": 3,
            "first_cap_feature": True,
            "all_caps_feature": True,
            "presence_feature": True,
            "add_bos": True,
            "add_eos": True,
        },
        ["Dog dog DOG dOg dog dog", "X", ""],
        0,
    ),
    ("typos", {"feature_size": 16, "distortion": 1.0}, [SENTENCE, SENTENCE, "a", ""], 7),
    ("typos in some words", {"feature_size": 16, "features": "mixed", "distortion": 0.5}, [SENTENCE], 123456789),
    ("typos leave tags alone", {"feature_size": 8, "distortion": 1.0, "add_bos": True, "add_eos": True}, ["ab"], 1),
    ("invalid UTF-8 and NUL", {"feature_size": 16}, [BROKEN], 0),
    ("invalid UTF-8 ends characters", {"feature_size": 16, "split": "characters"}, [BROKEN], 0),
    ("invalid UTF-8 passes the normalizer", {"feature_size": 16, "normalize_repetition": True}, [BROKEN], 0),
    (
        "upper case that changes its size",
        {"feature_size": 16, "features": "mixed", "all_caps_feature": True},
        ["İ ȺȾ ΣΣ \u212a ǅ ẞ 𐐀"],
        0,
    ),
    (
        "max_bytes drops a character of 2 bytes that is not whole",
        {"feature_size": 16, "max_bytes": 16},
        ["play some song é", "play some songsé", "play some song é and more"],
        0,
    ),
    (
        "max_bytes drops a character of 3 bytes that is not whole",
        {"feature_size": 16, "max_bytes": 16},
        ["play some song 日", "play some son 日", "play some son日"],
        0,
    ),
    (
        "max_bytes drops a character of 4 bytes that is not whole",
        {"feature_size": 16, "max_bytes": 16},
        ["play some song 😀", "play some son 😀", "play some so 😀"],
        0,
    ),
    (
        "max_bytes keeps a character that ends with the buffer",
        {"feature_size": 16, "max_bytes": 16},
        ["play some songs!", "play some son é more", "play some so 日 more", "play some s 😀 more"],
        0,
    ),
    (
        "max_bytes ends a text before its first lead byte without room",
        {"feature_size": 16, "max_bytes": 16},
        [
            raw(b"play some song \xe2\xf0"),
            raw(b"play some son \xe2\xf0"),
            raw(b"play some son \xe2"),
            raw(b"play some so \xf0 x"),
            raw(b"play some so a\xe2\xf0"),
        ],
        0,
    ),
    (
        "max_bytes keeps broken bytes that are no lead bytes or have room",
        {"feature_size": 16, "max_bytes": 16},
        [
            raw(b"play some \xe2"),
            raw(b"play some so \xe2\xf0 x"),
            raw(b"play some so a\xc3b\xc3"),
            raw(b"play some song \xc1"),
            raw(b"play some song \xf5"),
            raw(b"play some song \x80"),
        ],
        0,
    ),
    (
        "max_bytes drops NULs at the end alone",
        {"feature_size": 16, "max_bytes": 16},
        ["play\0\0", "pl\0ay some", "play \0", "play \0 \0\0", "\0play", "play some so\0\0\0é", "play some so \0\0é"],
        0,
    ),
    (
        "max_bytes: nothing, only NULs, text behind the buffer, part of one character behind NULs",
        {"feature_size": 8, "max_bytes": 16, "add_eos": True},
        [
            "",
            "\0",
            {"repeat": ["\0", 40]},
            {"repeat": [" ", 15]},
            raw(b"\0" * 16 + b"text"),
            raw(b"\0" * 15 + b"\xc3\xa9"),
        ],
        0,
    ),
    (
        "max_bytes with characters",
        {"feature_size": 8, "split": "characters", "max_bytes": 17},
        ["日本語 naïve 😀!", "abc\0", raw(b"ab\xffcd")],
        0,
    ),
    (
        "max_bytes comes before the normalizer",
        {
            "feature_size": 16,
            "features": "mixed",
            "pad_to": 8,
            "max_bytes": 20,
            "normalize_repetition": True,
            "normalize_spaces": True,
            "token_separators": "!,-'",
            "presence_feature": True,
        },
        [
            "soooo   good,isn't-it",
            "I'm ok,bye!!!    ooo日本",
            "a,b,c,d,e,f,g,h,é,j,k",
            "日本語,日本語,日本語",
            "x-\0\0",
        ],
        0,
    ),
    (
        "max_bytes with tags, novelty and document size",
        {
            "feature_size": 16,
            "max_bytes": 18,
            "add_bos": True,
            "add_eos": True,
            "word_novelty_bits": 2,
            "doc_size_levels": 3,
            "first_cap_feature": True,
        },
        ["Dog dog Dog dog É dog", "dog dog dog dogs É", ""],
        0,
    ),
    ("max_bytes and typos", {"feature_size": 16, "max_bytes": 32, "distortion": 1.0}, [SENTENCE, SENTENCE], 7),
]


def text_of(entry: str | dict[str, Any]) -> str | bytes:
    if isinstance(entry, str):
        return entry
    if "hex" in entry:
        return bytes.fromhex(entry["hex"])
    piece, times = entry["repeat"]
    return piece * times


def own_case(name: str, settings: dict[str, Any], texts: list[Any], seed: int) -> dict[str, Any]:
    config = ProjectionConfig.from_dict(settings)
    decoded = [text_of(text) for text in texts]
    features, lengths = reference.project(config, decoded, seed)
    floats, _ = reference.project(config, decoded, seed, "float32")
    case = {
        "name": name,
        "source": OURS,
        "config": settings,
        "texts": texts,
        "seed": seed,
        "lengths": lengths,
        "features": features,
    }
    if floats != features:
        case["features_float"] = floats
    return case


def dump(golden: dict[str, Any]) -> str:
    """JSON with one entry on a line, so that a difference is readable."""
    parts = [f'"about": {json.dumps(golden["about"])}']
    for section, entries in golden.items():
        if section != "about":
            lines = ",\n".join(json.dumps(entry) for entry in entries)
            parts.append(f'"{section}": [\n{lines}\n]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    golden["about"] = ABOUT
    kept = [case for case in golden["cases"] if case["source"] != OURS]
    golden["cases"] = kept + [own_case(*case) for case in OWN_CASES]
    GOLDEN.write_text(dump(golden), encoding="utf-8")


if __name__ == "__main__":
    main()
