"""Tokens from a checkpoint's own files, through the `tokenizers` package: ids, mask and segments.

tokenizer.json decides where there is one; otherwise spiece.model (SentencePiece, see `spiece_backend.py`) or vocab.txt
(WordPiece, see `wordpiece_backend.py`) with tokenizer_config.json. Leaves out decoding of ids into text and the training of vocabularies.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models_tf.checkpoints.json_text import parse_json
from models_tf.errors import InputError
from models_tf.spec import IDS, MASK, SEGMENTS
from models_tf.tokenizers import spiece_backend, wordpiece_backend
from models_tf.tokenizers.spiece_file import SPIECE, read_spiece
from models_tf.tokenizers.wordpiece_backend import VOCAB

if TYPE_CHECKING:
    from tokenizers import Encoding
    from tokenizers import Tokenizer as Backend
    from tokenizers.processors import PostProcessor

TOKENIZER = "tokenizer.json"
TOKENIZER_FILES = (TOKENIZER, SPIECE, VOCAB, "tokenizer_config.json", "special_tokens_map.json")
KINDS = WORDPIECE, SENTENCEPIECE = ("wordpiece", "sentencepiece")
_REQUIRED = ("pad", "unk", "cls", "sep")
# Rows that go through `tokenizers` at a time: enough to keep it busy, few enough for memory to stay flat.
_CHUNK = 4096


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """The tokens of one text without special ones; `spans` are where they lie in the text, end exclusive, and `words` the
    number of the word that each is a piece of.
    """

    ids: list[int]
    spans: list[tuple[int, int]]
    words: list[int | None]


@dataclass(frozen=True, kw_only=True)
class EncodedWords:
    """Rows of words as model inputs; `first` is the position of each word's first piece, -1 where it has none.

    A word has none when it lies beyond the maximum length, or consists of characters that the tokenizer drops.
    """

    inputs: dict[str, np.ndarray]
    first: np.ndarray  # int32 [rows, longest row in words]


class Tokenizer:
    """Texts -> int32 arrays. Build one with `from_files` or `from_folder`."""

    def __init__(
        self, backend: "Backend", special: Mapping[str, str], source: str, *, kind: str = WORDPIECE, spiece: bytes = b""
    ) -> None:
        """Takes a `tokenizers` object as its own; `special` are the names of pad, unk, cls, sep and mask, `spiece` is
        SentencePiece's own file where there is one.
        """
        self.kind, self._spiece = kind, spiece
        # Truncation is set per call and padding is done here, whatever the file asks for.
        backend.no_truncation()
        backend.no_padding()
        self._backend = backend
        self._source = source
        numbered = backend.get_vocab(with_added_tokens=True)
        self.vocab_size = len(numbered)
        self.tokens = _in_order(numbered, source)
        for which in _REQUIRED:
            if special[which] not in numbered:
                raise InputError(
                    f"{source} must have the special token {special[which]!r}. Received: {self.vocab_size} tokens "
                    "without it. Give the vocabulary that the model was trained with."
                )
        self.pad_id = numbered[special["pad"]]
        self.unk_id = numbered[special["unk"]]
        self.cls_id = numbered[special["cls"]]
        self.sep_id = numbered[special["sep"]]
        if backend.post_processor is None:
            backend.post_processor = _template((special["cls"], self.cls_id), (special["sep"], self.sep_id))

    @classmethod
    def from_files(cls, files: Mapping[str, bytes], source: str = "The checkpoint") -> "Tokenizer":
        """From the bytes of a checkpoint's files by name; `source` names the checkpoint in messages."""
        # Set, so that `tokenizers` does not warn when a process that used it forks; off, because threads of a pool
        # do not survive a fork and one thread reads a hundred thousand sentences in seconds.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        settings, backend = _settings(files), None
        if TOKENIZER in files:
            backend, kind = _from_json(files[TOKENIZER])
        elif SPIECE in files:
            kind = SENTENCEPIECE
        elif VOCAB in files:
            kind = WORDPIECE
        else:
            raise InputError(
                f"{source} must have {TOKENIZER}, {SPIECE} (SentencePiece) or {VOCAB} (WordPiece). "
                f"Received: {', '.join(sorted(files)) or 'none of them'}. Copy the file from where the model came from."
            )
        names = (spiece_backend if kind == SENTENCEPIECE else wordpiece_backend).SPECIAL
        special = {which: _special_name(settings, which, name) for which, name in names.items()}
        if kind == WORDPIECE:
            made = backend or _from_vocab(files[VOCAB], settings, special)
            return cls(made, special, VOCAB if backend is None else TOKENIZER)
        spiece = files.get(SPIECE, b"")
        made = backend or _from_spiece(spiece, settings, special)
        found = cls(made, special, SPIECE if backend is None else TOKENIZER, kind=kind, spiece=spiece)
        if backend is not None and spiece:
            _check_one_vocabulary(spiece, found.tokens)
        return found

    @classmethod
    def from_folder(cls, folder: Path) -> "Tokenizer":
        """From the tokenizer files of a checkpoint folder."""
        present = [Path(folder) / name for name in TOKENIZER_FILES if (Path(folder) / name).is_file()]
        return cls.from_files({path.name: path.read_bytes() for path in present}, str(folder))

    def encode(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, max_len: int, pad: bool = True
    ) -> dict[str, np.ndarray]:
        """Ids, mask and segments, int32 [rows, length]; too long rows lose tokens of the longer text first.

        `pad` false pads to the longest row instead of to `max_len`.
        """
        if pairs is not None and len(pairs) != len(texts):
            raise ValueError(f"`texts` and `pairs` must be as many. Received: {len(texts)}, {len(pairs)}.")
        rows: Sequence[Any] = _safe(texts) if pairs is None else list(zip(_safe(texts), _safe(pairs), strict=True))
        inputs = _empty(len(rows), max_len, self.pad_id)
        self._truncate(max_len, specials=2 if pairs is None else 3)
        for start in range(0, len(rows), _CHUNK):
            encoded = self._backend.encode_batch_fast(rows[start : start + _CHUNK])
            for i, row in enumerate(encoded, start):
                _fill(inputs, i, row)
        self._backend.no_truncation()
        if pad:
            return inputs
        longest = int(inputs[MASK].sum(axis=1).max(initial=1))
        return {name: np.ascontiguousarray(values[:, :longest]) for name, values in inputs.items()}

    def encode_words(self, rows: Sequence[Sequence[str]], *, max_len: int) -> EncodedWords:
        """Rows that are already split into words."""
        inputs = _empty(len(rows), max_len, self.pad_id)
        first = np.full((len(rows), max(map(len, rows), default=0)), -1, np.int32)
        self._truncate(max_len, specials=2)
        for start in range(0, len(rows), _CHUNK):
            words = [_safe(row) for row in rows[start : start + _CHUNK]]
            for i, row in enumerate(self._backend.encode_batch(words, is_pretokenized=True), start):
                _fill(inputs, i, row)
                for position, word in reversed(list(enumerate(row.word_ids))):  # backwards: the first piece stays
                    if word is not None:  # a special token has no word
                        first[i, word] = position
        self._backend.no_truncation()
        return EncodedWords(inputs=inputs, first=first)

    def pieces(self, texts: Sequence[str]) -> list[Pieces]:
        """Tokens of whole texts, without special ones and not cut, with their places in the text."""
        found = []
        for start in range(0, len(texts), _CHUNK):
            batch = self._backend.encode_batch(_safe(texts[start : start + _CHUNK]), add_special_tokens=False)
            found += [Pieces(ids=row.ids, spans=row.offsets, words=row.word_ids) for row in batch]
        return found

    def basic_tokens(self, text: str) -> list[str]:
        """The words and signs of a text, normalized, before they are cut into pieces."""
        normalizer, splitter = self._backend.normalizer, self._backend.pre_tokenizer
        normalized = _safe([text])[0] if normalizer is None else normalizer.normalize_str(_safe([text])[0])
        return normalized.split() if splitter is None else [word for word, _ in splitter.pre_tokenize_str(normalized)]

    def token_id(self, token: str) -> int | None:
        return self._backend.token_to_id(token)

    def token(self, number: int) -> str:
        return self.tokens[number]

    def check_embedding(self, rows: int) -> None:
        """A vocabulary of another size than the word embedding belongs to another model."""
        if rows != self.vocab_size:
            harm = "ids beyond the table would be read" if self.vocab_size > rows else "rows of the table have no token"
            raise InputError(
                f"{self._source} must have as many tokens as the word embedding has rows, {rows}. "
                f"Received: {self.vocab_size} tokens ({harm}). Give the vocabulary that the model was trained with."
            )

    def files(self) -> dict[str, bytes]:
        """What an app needs beside the model: tokenizer.json, and vocab.txt (line number = id) or SentencePiece's file."""
        if self.kind == SENTENCEPIECE:
            own = {SPIECE: self._spiece} if self._spiece else {}
            return {**own, TOKENIZER: self._backend.to_str(pretty=False).encode()}
        for number, token in enumerate(self.tokens):
            if "\n" in token or "\r" in token or not token:
                raise InputError(
                    f"{self._source} must have tokens that fit on a line of {VOCAB}. Received: {token!r} (id {number})."
                )
        vocab = "".join(f"{token}\n" for token in self.tokens)
        return {VOCAB: vocab.encode(), TOKENIZER: self._backend.to_str(pretty=False).encode()}

    def same_vocabulary(self, other: "Tokenizer") -> bool:
        """Whether both have the same tokens under the same ids."""
        return self.kind == other.kind and self.tokens == other.tokens

    def _truncate(self, max_len: int, *, specials: int) -> None:
        if max_len <= specials:
            raise InputError(
                f"The sequence length must be at least {specials + 1}: {specials} special tokens and one of the text. "
                f"Received: {max_len}."
            )
        self._backend.enable_truncation(max_len, strategy="longest_first")


def _template(cls: tuple[str, int], sep: tuple[str, int]) -> "PostProcessor":
    from tokenizers.processors import TemplateProcessing

    return TemplateProcessing(
        single=f"{cls[0]}:0 $A:0 {sep[0]}:0",
        pair=f"{cls[0]}:0 $A:0 {sep[0]}:0 $B:1 {sep[0]}:1",
        special_tokens=[cls, sep],
    )


def _empty(rows: int, length: int, pad_id: int) -> dict[str, np.ndarray]:
    return {
        IDS: np.full((rows, length), pad_id, np.int32),
        MASK: np.zeros((rows, length), np.int32),
        SEGMENTS: np.zeros((rows, length), np.int32),
    }


def _fill(inputs: dict[str, np.ndarray], i: int, row: "Encoding") -> None:
    length = len(row)
    inputs[IDS][i, :length] = row.ids
    inputs[MASK][i, :length] = 1
    inputs[SEGMENTS][i, :length] = row.type_ids


def _safe(texts: Sequence[str]) -> list[str]:
    """JSON can hold half of a surrogate pair, which `tokenizers` refuses: a question mark stands for it."""
    return [text if text.isascii() else text.encode("utf-8", "replace").decode() for text in texts]


def _settings(files: Mapping[str, bytes]) -> dict[str, Any]:
    """tokenizer_config.json over special_tokens_map.json."""
    merged: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        if name in files:
            document = parse_json(files[name], f"{name} must be JSON.")
            if not isinstance(document, dict):
                raise InputError(f"{name} must be a JSON object. Received: {type(document).__name__}.")
            merged |= {key: value for key, value in document.items() if value is not None}
    return merged


def _special_name(settings: Mapping[str, Any], kind: str, default: str) -> str:
    value = settings.get(f"{kind}_token", default)
    name = value.get("content") if isinstance(value, dict) else value
    if not isinstance(name, str) or not name:
        raise InputError(f"tokenizer_config.json: `{kind}_token` must be text. Received: {value!r}.")
    return name


def _flag(settings: Mapping[str, Any], name: str, default: bool | None) -> bool | None:
    value = settings.get(name, default)
    if value is not None and not isinstance(value, bool):
        raise InputError(f"tokenizer_config.json: `{name}` must be true or false. Received: {value!r}.")
    return value


def _in_order(numbered: Mapping[str, int], source: str) -> list[str]:
    tokens = sorted(numbered, key=numbered.__getitem__)
    for expected, token in enumerate(tokens):
        if numbered[token] != expected:
            raise InputError(
                f"{source} must number its {len(tokens)} tokens from 0 without gaps. "
                f"Received: {token!r} with number {numbered[token]} where {expected} was due."
            )
    return tokens


def _from_json(data: bytes) -> "tuple[Backend, str]":
    """The tokenizer and its kind; any model but Unigram is treated as WordPiece."""
    from tokenizers import Tokenizer as Backend

    document = parse_json(data, f"{TOKENIZER} must be JSON.")
    if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
        raise InputError(f"{TOKENIZER} must describe a tokenizer, with `model`. Received: something else.")
    try:
        kind = SENTENCEPIECE if document["model"].get("type") == "Unigram" else WORDPIECE
        return Backend.from_buffer(data), kind
    except Exception as error:  # `tokenizers` raises nothing more specific
        raise InputError(f"{TOKENIZER} must describe a tokenizer. Received: {_one_line(error)}.") from error


def _from_vocab(data: bytes, settings: Mapping[str, Any], special: Mapping[str, str]) -> "Backend":
    return wordpiece_backend.make_backend(
        data,
        (*special.values(), *_never_split(settings)),
        unknown=special["unk"],
        lower_case=bool(_flag(settings, "do_lower_case", True)),
        strip_accents=_flag(settings, "strip_accents", None),
        split_chinese=bool(_flag(settings, "tokenize_chinese_chars", True)),
    )


def _check_one_vocabulary(spiece: bytes, tokens: Sequence[str]) -> None:
    """An app may read either file."""
    for number, (piece, _, _) in enumerate(read_spiece(spiece).pieces):
        token = tokens[number] if number < len(tokens) else None
        if token != piece:
            raise InputError(
                f"{SPIECE} and {TOKENIZER} must be of one vocabulary. Received: {piece!r} and {token!r} with id {number}."
            )


def _from_spiece(data: bytes, settings: Mapping[str, Any], special: Mapping[str, str]) -> "Backend":
    return spiece_backend.make_backend(
        read_spiece(data),
        special,
        lower_case=bool(_flag(settings, "do_lower_case", True)),
        keep_accents=bool(_flag(settings, "keep_accents", False)),
    )


def _never_split(settings: Mapping[str, Any]) -> list[str]:
    names = settings.get("never_split", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"tokenizer_config.json: `never_split` must be a list of tokens. Received: {names!r}.")
    return names


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
