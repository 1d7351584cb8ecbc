"""Which tokenizers and tasks the libraries for devices have: the Java library of `android`, the modules of `demo`.

Leaves out what is wrong inside a part that they have, such as a vocabulary with gaps: they say so themselves.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from models_tf.checkpoints.json_text import read_json_file
from models_tf.encoder.heads import EMBEDDING
from models_tf.errors import InputError
from models_tf.tokenizers.files import TOKENIZER

_MODELS = ("WordPiece", "Unigram")
_NORMALIZERS = (
    *("BertNormalizer", "NFD", "NFKD", "NFC", "NFKC"),
    *("StripAccents", "Lowercase", "Strip", "Replace", "Precompiled"),
)
_SPLITTERS = ("BertPreTokenizer", "WhitespaceSplit", "Metaspace")
_TEMPLATES = ("TemplateProcessing", "BertProcessing")
_PATTERNS = (" {2,}", r"\s{2,}|[\n\r\t]")
_NAMES = {"BPE": "byte pairs"}


def missing(tokenizer: Mapping[str, Any]) -> str:
    """The first part of a tokenizer.json that the libraries do not have, or nothing."""
    return next(_missing(tokenizer), "")


def note(what: str) -> str:
    """A line for the report of an export whose tokenizer has a part that is missing."""
    return (
        f"The libraries for Android and the browser do not have all of the tokenizer yet ({what}): an app must bring "
        f"one that reads {TOKENIZER}."
    )


def check(path: Path, command: str) -> None:
    """Refuses an export whose task, in model.json, or whose tokenizer the libraries for devices do not have."""
    document = _read(path)
    if document.get("task") == EMBEDDING:
        raise InputError(
            f"{command} has answers with labels, numbers or words. Received: {path.parent}, whose answers are vectors; "
            "call its files as the README.md beside them shows."
        )
    if what := missing(_read(path.parent / TOKENIZER)):
        raise InputError(
            f"{command} needs a tokenizer that its library has. Received: {path.parent}, whose {TOKENIZER} has {what}."
        )


def _missing(tokenizer: Mapping[str, Any]) -> Iterator[str]:
    model = _object(tokenizer.get("model"))
    yield from _unknown([model], _MODELS)
    if model.get("byte_fallback") is True:
        yield "bytes for unknown characters"
    steps = list(_flat(tokenizer.get("normalizer"), "normalizers"))
    yield from _unknown(steps, _NORMALIZERS)
    if any(_object(step.get("pattern")).get("Regex", _PATTERNS[0]) not in _PATTERNS for step in steps):
        yield "a pattern that is replaced"
    yield from _unknown(_flat(tokenizer.get("pre_tokenizer"), "pretokenizers"), _SPLITTERS)
    yield from _unknown([_object(tokenizer.get("post_processor"))], _TEMPLATES)


def _unknown(parts: Any, known: tuple[str, ...]) -> Iterator[str]:
    for part in parts:
        name = part.get("type")
        if isinstance(name, str) and name not in known:
            yield _NAMES.get(name, name[:40])


def _flat(part: Any, inner: str) -> Iterator[Mapping[str, Any]]:
    """A part, or those of a sequence of them."""
    found = _object(part)
    if found.get("type") != "Sequence":
        yield found
        return
    below = found.get(inner)
    for one in below if isinstance(below, list) else ():
        yield from _flat(one, inner)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _read(path: Path) -> Mapping[str, Any]:
    """Nothing for a file that cannot be read: the command says so when it reads it."""
    try:
        return _object(read_json_file(path))
    except OSError:
        return {}
