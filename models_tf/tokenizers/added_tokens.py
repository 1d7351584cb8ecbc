"""Tokens that were added to a vocabulary, for a tokenizer that is made of other files than tokenizer.json.

`added_tokens_decoder` of tokenizer_config.json has them with their flags, added_tokens.json with their numbers alone.
As in `transformers`, the second counts where there is no first. tokenizer.json has its own: neither is read beside it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from models_tf.checkpoints.json_text import parse_json
from models_tf.errors import InputError
from models_tf.tokenizers.files import ADDED_TOKENS, SETTINGS

if TYPE_CHECKING:
    from tokenizers import AddedToken
    from tokenizers import Tokenizer as Backend

_DECODER = "added_tokens_decoder"
_IN_SETTINGS = f"{SETTINGS}: `{_DECODER}`"
_FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "special")
# Lists of names in the settings, by version of `transformers`: these tokens are special beside the usual ones.
_MORE_SPECIAL = ("additional_special_tokens", "extra_special_tokens")
_MOST_DIGITS = 9

Numbered = Sequence[tuple[int, "AddedToken"]]


def add_tokens(
    backend: "Backend", files: Mapping[str, bytes], settings: Mapping[str, Any], special: Collection[str]
) -> None:
    """Adds the tokens that the `files` name; `special` are the names of the usual special tokens."""
    if _DECODER in settings:
        source, found = _IN_SETTINGS, _of_settings(settings[_DECODER])
    elif ADDED_TOKENS in files:
        source, found = ADDED_TOKENS, _of_numbers(read_numbers(files[ADDED_TOKENS]), settings, special)
    else:
        return
    _check_numbers(backend.get_vocab(with_added_tokens=True), found, source)
    if source == ADDED_TOKENS:  # which has no flags: what is there keeps its own
        there = backend.get_added_tokens_decoder()
        found = [(number, token) for number, token in found if number not in there]
    backend.add_tokens([token for _, token in found])


def read_numbers(data: bytes) -> dict[str, int]:
    """The content of added_tokens.json."""
    found = parse_json(data, f"{ADDED_TOKENS} must be JSON.")
    if not isinstance(found, dict) or not all(type(number) is int for number in found.values()):
        raise InputError(f"{ADDED_TOKENS} must be an object of tokens and their numbers. Received: {found!r:.100}.")
    return found


def _of_numbers(numbers: Mapping[str, int], settings: Mapping[str, Any], special: Collection[str]) -> Numbered:
    from tokenizers import AddedToken

    names = {*special, *_more_special(settings)}
    pairs = sorted((number, token) for token, number in numbers.items())
    return [
        (number, AddedToken(token, special=token in names, normalized=token not in names)) for number, token in pairs
    ]


def _of_settings(decoder: Any) -> Numbered:
    from tokenizers import AddedToken

    if not isinstance(decoder, dict):
        raise InputError(f"{_IN_SETTINGS} must be an object of numbers and tokens. Received: {decoder!r:.100}.")
    found = []
    for key, entry in decoder.items():
        if not (key.isascii() and key.isdigit() and len(key) <= _MOST_DIGITS):
            raise InputError(f"{_IN_SETTINGS} must have numbers as keys. Received: {key!r:.100}.")
        content = entry.get("content") if isinstance(entry, dict) else None
        if not isinstance(content, str):
            raise InputError(f"{_IN_SETTINGS} must have a token with `content` for {key}. Received: {entry!r:.100}.")
        flags = {flag: entry[flag] for flag in _FLAGS if flag in entry}
        wrong = next((flag for flag, value in flags.items() if not isinstance(value, bool)), None)
        if wrong is not None:
            raise InputError(
                f"{_IN_SETTINGS}: `{wrong}` of {content!r:.60} must be true or false. Received: {flags[wrong]!r:.60}."
            )
        found.append((int(key), AddedToken(content, **flags)))
    return sorted(found, key=lambda pair: pair[0])


def _more_special(settings: Mapping[str, Any]) -> Iterator[str]:
    for key in _MORE_SPECIAL:
        names = settings.get(key)
        for name in names if isinstance(names, list) else ():
            content = name.get("content") if isinstance(name, dict) else name
            if isinstance(content, str):
                yield content


def _check_numbers(vocabulary: Mapping[str, int], found: Numbered, source: str) -> None:
    """Refuses numbers that the tokenizer would not give: their rows of the word embedding are those of other tokens."""
    known = dict(vocabulary)
    for number, token in found:
        if not token.content:
            raise InputError(f"{source} must have tokens of at least one character. Received: an empty one, {number}.")
        due = known.setdefault(token.content, len(known))
        if number != due:
            what = "the one it has in the vocabulary" if token.content in vocabulary else "the next one"
            raise InputError(
                f"{source} must give {token.content!r:.60} the number {due}, {what}. Received: {number}. "
                "Give the vocabulary that it was added to."
            )
