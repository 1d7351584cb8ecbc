"""Files of tokenizers: vocab.txt, tokenizer.json, files of SentencePiece, added and special tokens, their settings."""

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.attack import materials
from tests.attack.case import Case
from tests.attack.outcome import Kind, Outcome
from tests.attack.readers import read_checkpoint, tokenize
from tests.attack.values import damage, document_bytes, text, wrong_value

GOLDEN = Path(__file__).parents[2] / "golden"


def vocabulary(rng: random.Random, folder: Path) -> Outcome:
    """vocab.txt: bytes, lines twice, too many, too few, without special tokens."""
    case = Case.of("tokenizer: vocab.txt", folder)
    model = rng.choice(("bert", "albert", "tagger", "squad"))
    path = materials.copy(model, case.inputs) / "vocab.txt"
    content = path.read_bytes()
    lines = content.split(b"\n")
    makers: dict[str, Callable[[], bytes]] = {
        "a line twice": lambda: b"\n".join([*lines[:10], lines[5], *lines[11:]]),
        "no special tokens": lambda: b"\n".join(lines[4:]),
        "too many": lambda: content + b"".join(b"x%d\n" % n for n in range(rng.choice((1, 1000, 300_000)))),
        "too few": lambda: b"\n".join(lines[: rng.randrange(len(lines))]),
        "empty lines": lambda: content.replace(b"\n", b"\n\n"),
        "carriage returns": lambda: content.replace(b"\n", rng.choice((b"\r", b"\r\n"))),
        "a long line": lambda: b"\n".join([*lines[:10], b"x" * rng.choice((10_000, 5_000_000)), *lines[11:]]),
        "not UTF-8": lambda: b"\n".join([*lines[:10], b"\xff\xfe\x80", *lines[11:]]),
        "controls": lambda: b"\n".join([*lines[:10], b"a\x00\x1b[0m\x0b\x85\xe2\x80\xa8", *lines[11:]]),
        "utf-16": lambda: content.decode().encode("utf-16"),
    }
    what = rng.choice([*makers, "damaged"])
    if what == "damaged":
        what, changed = damage(rng, content)
    else:
        changed = makers[what]()
    path.write_bytes(changed)
    if rng.random() < 0.5:
        return tokenize(rng, case, model, f"{model}: {what}")
    return read_checkpoint(rng, case, model, f"{model}: {what}", exports=0.03)


def settings(rng: random.Random, folder: Path) -> Outcome:
    """tokenizer.json and the files beside it, each field of them."""
    case = Case.of("tokenizer: JSON files", folder)
    model = rng.choice(("bert", "tagger"))
    place = materials.copy(model, case.inputs)
    name = rng.choice(list(_DOCUMENTS))
    document = _DOCUMENTS[name]()
    changed = mutated(rng, document) if rng.random() < 0.8 else document
    content, what = document_bytes(changed), name
    if rng.random() < 0.15:
        damaged, content = damage(rng, content)
        what = f"{name} {damaged}"
    (place / name).write_bytes(content)
    if name == "tokenizer.json" and rng.random() < 0.5:
        (place / "vocab.txt").unlink()
        what += ", no vocab.txt"
    if rng.random() < 0.6:
        return tokenize(rng, case, model, f"{model}: {what}")
    return read_checkpoint(rng, case, model, f"{model}: {what}", exports=0.03)


def sentencepiece(rng: random.Random, folder: Path) -> Outcome:
    """spiece.model: a protobuf file."""
    case = Case.of("tokenizer: spiece.model", folder)
    place = materials.copy("albert", case.inputs)
    (place / "vocab.txt").unlink()
    content = (GOLDEN / "spiece.model").read_bytes()
    what, changed = damage(rng, content) if rng.random() < 0.9 else ("as it is", content)
    (place / "spiece.model").write_bytes(changed)
    config = json.loads((place / "config.json").read_bytes())
    if rng.random() < 0.5:
        config["vocab_size"] = 600
        (place / "config.json").write_text(json.dumps(config))
    return tokenize(rng, case, "albert", what)


def pieces(material: str, name: str, rng: random.Random, folder: Path) -> Outcome:
    """A file of SentencePiece of another family: bytes, ALBERT's file with its name, beside another vocabulary."""
    case = Case.of(f"tokenizer: {name}", folder)
    place = materials.copy(material, case.inputs)
    content = (place / name).read_bytes()
    choice = rng.random()
    if choice < 0.8:
        what, changed = damage(rng, content)
    elif choice < 0.9:
        what, changed = "ALBERT's", (GOLDEN / "spiece.model").read_bytes()
    else:
        what, changed = "as it is", content
    (place / name).write_bytes(changed)
    if rng.random() < 0.2:
        materials.copy("bert/vocab.txt", place, "vocab.txt")
        what += ", with vocab.txt"
    if rng.random() < 0.9:
        return tokenize(rng, case, material, what)
    return read_checkpoint(rng, case, material, what)


def byte_pairs(rng: random.Random, folder: Path) -> Outcome:
    """vocab.json and merges.txt: bytes, fields, lines."""
    case = Case.of("tokenizer: byte pairs", folder)
    place = materials.copy("roberta", case.inputs)
    name = rng.choice(("vocab.json", "merges.txt"))
    content = (place / name).read_bytes()
    if rng.random() < 0.4:
        what, changed = damage(rng, content)
    elif name == "vocab.json":
        what, changed = "a field", document_bytes(mutated(rng, json.loads(content)))
    else:
        lines = content.split(b"\n")
        added = rng.choice((b"a", b"a b c", b"\xff \xfe", b"zz qq", b"", b"\x00 \x00", b"x" * 1_000_000 + b" y"))
        at = rng.randrange(len(lines))
        what, changed = "a line", b"\n".join([*lines[:at], added, *lines[at + rng.choice((0, 1)) :]])
    (place / name).write_bytes(changed)
    if rng.random() < 0.6:
        return tokenize(rng, case, "roberta", f"{name} {what}")
    return read_checkpoint(rng, case, "roberta", f"{name} {what}", exports=0.03)


def mutated(rng: random.Random, document: Any, depth: int = 0) -> Any:
    """One value somewhere inside is another, a key is gone or another."""
    inner = (
        list(document)
        if isinstance(document, dict)
        else list(range(len(document)))
        if isinstance(document, list)
        else []
    )
    if not inner or (depth and rng.random() < 0.25):
        return wrong_value(rng, document)
    key = rng.choice(inner)
    changed = document.copy()
    choice = rng.random()
    if choice < 0.1:
        del changed[key]
    elif choice < 0.15 and isinstance(changed, dict):
        changed[text(rng)] = changed.pop(key)
    else:
        changed[key] = mutated(rng, document[key], depth + 1)
    return changed


_DOCUMENTS: dict[str, Callable[[], Any]] = {
    "tokenizer.json": lambda: json.loads((materials.place() / "export-bert" / "tokenizer.json").read_bytes()),
    "tokenizer_config.json": lambda: {
        "do_lower_case": True, "tokenizer_class": "BertTokenizer", "model_max_length": 512, "unk_token": "[UNK]",
        "strip_accents": None, "tokenize_chinese_chars": True, "pad_token": "[PAD]", "cls_token": "[CLS]",
        "added_tokens_decoder": {"0": {"content": "[PAD]", "special": True, "lstrip": False}},
    },
    "special_tokens_map.json": lambda: {
        "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": {"content": "[SEP]", "lstrip": False},
        "pad_token": "[PAD]", "mask_token": "[MASK]",
    },
    "added_tokens.json": lambda: {"<a>": 60, "<b>": 61},
}  # fmt: skip

KINDS: dict[str, Kind] = {
    "tokenizer vocab": vocabulary,
    "tokenizer json": settings,
    "tokenizer spiece": sentencepiece,
    "tokenizer xlm-roberta": partial(pieces, "xlm-pieces", "sentencepiece.bpe.model"),
    "tokenizer deberta": partial(pieces, "deberta-pieces", "spm.model"),
    "tokenizer byte pairs": byte_pairs,
}
SHARES = {
    "tokenizer vocab": 1.5, "tokenizer json": 3, "tokenizer spiece": 1, "tokenizer xlm-roberta": 1,
    "tokenizer byte pairs": 1,
}  # fmt: skip
