"""What the `tokenizers` package does not check in a tokenizer.json: it panics over these, or ends the process.

Leaves out what it says itself, and what a first text shows (`Tokenizer.from_files`).
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from models_tf.errors import InputError
from models_tf.tokenizers.files import TOKENIZER
from models_tf.tokenizers.spiece_file import check_character_map

_MAP, _PREFIX = "precompiled_charsmap", "continuing_subword_prefix"


def check_document(document: Mapping[str, Any]) -> None:
    """Parts are known by their keys, since the package guesses a `type` that is missing."""
    for step in _objects(document.get("normalizer")):
        if _MAP in step or step.get("type") == "Precompiled":
            _check_map(step.get(_MAP))
    for part in _objects(document.get("post_processor")):
        if isinstance(part.get("special_tokens"), dict):
            _check_template(part, part["special_tokens"])
    _check_merges(document["model"])


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """All objects inside a value."""
    if isinstance(value, dict):
        yield value
        value = value.values()
    elif not isinstance(value, list):
        return
    for one in value:
        yield from _objects(one)


def _check_map(text: Any) -> None:
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
        # The package takes the one way of writing the bytes alone.
        whole = bool(data) and base64.b64encode(data).decode() == text
        check_character_map(data)
    except ValueError:  # not base64, or an InputError about the map
        whole = False
    if not whole:
        raise InputError(
            f"{TOKENIZER}: `{_MAP}` must be a character map of SentencePiece in base64. Received: {text!r:.60}."
        )


def _check_template(part: Mapping[str, Any], tokens: Mapping[str, Any]) -> None:
    for side in ("single", "pair"):
        for piece in _objects(part.get(side)):
            name = _object(piece.get("SpecialToken")).get("id")
            if isinstance(name, str) and name not in tokens:
                raise InputError(
                    f"{TOKENIZER}: `{side}` of the post-processor must name tokens of its `special_tokens`. "
                    f"Received: {name!r:.60}."
                )
    for name, entry in tokens.items():
        numbers, names = (_object(entry).get(key) for key in ("ids", "tokens"))
        if isinstance(numbers, list) and isinstance(names, list) and len(numbers) != len(names):
            raise InputError(
                f"{TOKENIZER}: `special_tokens` must have as many `ids` as `tokens` for {name!r:.60}. "
                f"Received: {len(numbers)} and {len(names)}."
            )


def _check_merges(model: Mapping[str, Any]) -> None:
    prefix, merges = model.get(_PREFIX), model.get("merges")
    if not isinstance(prefix, str) or not isinstance(merges, list):
        return
    for pair in merges:
        parts = pair.split(" ") if isinstance(pair, str) else pair
        second = parts[1] if isinstance(parts, list) and len(parts) == 2 else ""
        if isinstance(second, str) and second and not second.startswith(prefix):
            raise InputError(
                f"{TOKENIZER}: the second part of a pair must begin with `{_PREFIX}`, {prefix!r:.60}. "
                f"Received: {second!r:.60}."
            )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
