"""A smaller vocabulary: a tokenizer's files with only some of its tokens, renumbered in order.

Texts whose pieces are all kept are split as before, because pieces are only ever removed:

- WordPiece takes the longest piece that fits, from left to right. The piece it took is still there, and no longer one
  was added. A word that no pieces fit stays [UNK] as long as the pieces before the point of failure are kept: without
  them a shorter piece might lead past that point (`unknown_words`).
- Unigram takes the split with the highest sum of scores. That split is still there with the same sum, and only some of
  the others are. A character that no piece covers costs 10 below the lowest score, so the lowest piece must stay
  (`lowest`); if a character's own piece was removed, the unknown one in its place costs more.

Both as in the `tokenizers` package. Leaves out which tokens texts need (`models_tf/compress/vocabulary_data.py`), BPE,
and files of SentencePiece, which tokenizer.json replaces.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models_tf.checkpoints.json_text import parse_json
from models_tf.errors import InputError
from models_tf.tokenizers.added_tokens import read_numbers
from models_tf.tokenizers.files import ADDED_TOKENS, SETTINGS, SPIECE_FILES, TOKENIZER, VOCAB
from models_tf.tokenizers.spiece_file import SPACE
from models_tf.tokenizers.tokenizer import Tokenizer

WORDPIECE, UNIGRAM = "WordPiece", "Unigram"

_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """A tokenizer's parts, from tokenizer.json: `tokens` by number, and the ones that must stay."""

    kind: str
    tokens: tuple[str, ...]
    always: frozenset[int]  # special and added tokens, and those needed for exactness
    prefix: str  # of a piece inside a word, or of the first one

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Vocabulary":
        document = json.loads(tokenizer.files()[TOKENIZER])
        model = document["model"]
        kind = model.get("type", WORDPIECE)
        if kind not in (WORDPIECE, UNIGRAM):
            raise InputError(f"A vocabulary can be pruned of {WORDPIECE} and {UNIGRAM} tokenizers. Received: {kind}.")
        tokens = tuple(tokenizer.token(number) for number in range(tokenizer.vocab_size))
        always = {tokenizer.pad_id, tokenizer.unk_id, tokenizer.cls_id, tokenizer.sep_id}
        always |= {entry["id"] for entry in document.get("added_tokens") or []}
        if kind == UNIGRAM:
            always |= {model["unk_id"]} if model.get("unk_id") is not None else set()
            always.add(lowest(model["vocab"]))
            if model.get("byte_fallback"):
                always |= {number for number, token in enumerate(tokens) if _BYTE.fullmatch(token)}
        prefix = model.get("continuing_subword_prefix", "##") if kind == WORDPIECE else SPACE
        return cls(kind=kind, tokens=tokens, always=frozenset(always), prefix=prefix)

    @property
    def characters(self) -> frozenset[int]:
        """Single-character tokens, with or without the prefix: they give pieces to any text of these characters."""
        return frozenset(
            number
            for number, token in enumerate(self.tokens)
            if len(token) == 1 or len(token.removeprefix(self.prefix)) == 1
        )

    def unknown_words(self, words: Iterable[str]) -> set[int]:
        """The pieces that WordPiece takes from words before it gets stuck; none for Unigram."""
        if self.kind != WORDPIECE:
            return set()
        numbers = {token: number for number, token in enumerate(self.tokens)}
        longest = max(map(len, numbers), default=0)
        found: set[int] = set()
        for word in words:
            start = 0
            while start < len(word):
                front = self.prefix if start else ""
                ends = range(min(len(word), start + longest), start, -1)
                end = next((end for end in ends if front + word[start:end] in numbers), None)
                if end is None:
                    break
                found.add(numbers[front + word[start:end]])
                start = end
        return found


def lowest(scored: Sequence[Sequence[Any]]) -> int:
    """The number of the piece with the lowest score, the first among equals."""
    return min(range(len(scored)), key=lambda number: float(scored[number][1]))


def keep_tokens(files: Mapping[str, bytes], kept: Collection[int]) -> dict[str, bytes]:
    """The tokenizer's files with only these tokens, renumbered from 0 in the same order.

    Special tokens must be among them and, for exactness, everything in `Vocabulary.always`.
    """
    tokenizer = Tokenizer.from_files(files)
    vocabulary = Vocabulary.of(tokenizer)
    order = sorted(set(kept))
    if not order or order[0] < 0 or order[-1] >= len(vocabulary.tokens):
        raise ValueError(f"`kept` must be numbers from 0 to {len(vocabulary.tokens) - 1}. Received: {order[:1]}...")
    missing = sorted(vocabulary.always - set(order))
    if missing:
        raise ValueError(f"`kept` must hold the special tokens. Received: none of {vocabulary.tokens[missing[0]]!r}.")
    numbers = {old: new for new, old in enumerate(order)}
    found = {name: value for name, value in files.items() if name not in SPIECE_FILES}
    if VOCAB in found:
        found[VOCAB] = "".join(f"{vocabulary.tokens[number]}\n" for number in order).encode()
    if TOKENIZER in found or VOCAB not in found:
        document = parse_json(found.get(TOKENIZER) or tokenizer.files()[TOKENIZER], f"{TOKENIZER} must be JSON.")
        found[TOKENIZER] = _dump(_tokenizer_json(document, numbers))
    if SETTINGS in found:
        found[SETTINGS] = _settings(found[SETTINGS], numbers)
    if ADDED_TOKENS in found:
        added = read_numbers(found[ADDED_TOKENS])
        found[ADDED_TOKENS] = _dump({token: numbers[number] for token, number in added.items() if number in numbers})
    return found


def _tokenizer_json(document: dict[str, Any], numbers: Mapping[int, int]) -> dict[str, Any]:
    model = dict(document["model"])
    if isinstance(model["vocab"], dict):
        model["vocab"] = {token: numbers[number] for token, number in model["vocab"].items() if number in numbers}
    else:
        model["vocab"] = [entry for number, entry in enumerate(model["vocab"]) if number in numbers]
    if model.get("unk_id") is not None:
        model["unk_id"] = _number(model["unk_id"], numbers)
    changed = {**document, "model": model}
    changed["added_tokens"] = [{**entry, "id": numbers[entry["id"]]} for entry in document.get("added_tokens") or []]
    if isinstance(document.get("padding"), dict):
        changed["padding"] = {**document["padding"], "pad_id": _number(document["padding"]["pad_id"], numbers)}
    changed["post_processor"] = _processor(document.get("post_processor"), numbers)
    return changed


def _processor(value: Any, numbers: Mapping[int, int]) -> Any:
    """What puts [CLS] and [SEP] around a text, in each of the forms that `tokenizers` has."""
    if not isinstance(value, dict):
        return value
    changed = dict(value)
    if "processors" in value:
        changed["processors"] = [_processor(one, numbers) for one in value["processors"]]
    for key in ("sep", "cls"):  # BERT's and RoBERTa's: a token and its number
        if isinstance(value.get(key), list):
            changed[key] = [value[key][0], _number(value[key][1], numbers)]
    if isinstance(value.get("special_tokens"), dict):
        changed["special_tokens"] = {
            name: {**entry, "ids": [_number(number, numbers) for number in entry["ids"]]}
            for name, entry in value["special_tokens"].items()
        }
    return changed


def _number(old: int, numbers: Mapping[int, int]) -> int:
    """The new number of a special token."""
    if old not in numbers:
        raise InputError(f"{TOKENIZER} must have a token for every number that it puts in. Received: number {old}.")
    return numbers[old]


def _settings(data: bytes, numbers: Mapping[int, int]) -> bytes:
    settings = parse_json(data, f"{SETTINGS} must be JSON.")
    if not isinstance(settings, dict) or not isinstance(settings.get("added_tokens_decoder"), dict):
        return data
    decoder = settings["added_tokens_decoder"]
    names = {str(old): str(new) for old, new in numbers.items()}
    kept = {names[key]: entry for key, entry in decoder.items() if key in names}
    return _dump({**settings, "added_tokens_decoder": kept})


def _dump(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False) + "\n").encode()
