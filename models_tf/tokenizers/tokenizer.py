"""Tokens from a checkpoint's own files, through the `tokenizers` package: ids, mask and segments.

`backend.py` decides which of the files to use. Leaves out decoding ids into text and training vocabularies.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models_tf import limits
from models_tf.data.text import clean_text
from models_tf.errors import InputError
from models_tf.spec import IDS, MASK, SEGMENTS
from models_tf.tokenizers.backend import make_backend
from models_tf.tokenizers.files import SENTENCEPIECE, SPIECE, TOKENIZER, VOCAB, WORDPIECE, read_tokenizer_files
from models_tf.tokenizers.refusals import refused_as
from models_tf.tokenizers.spiece_file import read_spiece
from models_tf.tokenizers.template import Template, read_template

if TYPE_CHECKING:
    from tokenizers import Encoding
    from tokenizers import Tokenizer as Backend
    from tokenizers.processors import PostProcessor

_REQUIRED = ("pad", "unk", "cls", "sep")
# Rows passed to `tokenizers` at a time: enough to keep it busy, few enough to keep memory flat.
_CHUNK = 4096
# One row of the word embedding in so many may be spare. Some published tables are larger than their vocabulary:
# DeBERTa-v3's by 0.1 % of the rows, that of dbmdz's Italian BERT by 3.1 %. Above 4 % it is another model's vocabulary,
# such as BERT's cased one beside the uncased model, where 5.0 % are left.
_ROWS_PER_SPARE = 25
# A word, and a hieroglyph that no vocabulary has.
_FIRST = "a \U00013000"
_FIRST_LENGTH = 64


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """The tokens of one text, without special ones.

    `spans` are their places in the text, end exclusive; `words` is the number of the word each token belongs to.
    """

    ids: list[int]
    spans: list[tuple[int, int]]
    words: list[int | None]


@dataclass(frozen=True, kw_only=True)
class EncodedWords:
    """Rows of words as model inputs; `first` is the position of each word's first piece, -1 if it has none.

    A word has none if it lies beyond the maximum length or consists of characters that the tokenizer drops.
    """

    inputs: dict[str, np.ndarray]
    first: np.ndarray  # int32 [rows, longest row in words]


class Tokenizer:
    """Texts -> int32 arrays. Build one with `from_files` or `from_folder`.

    `single` and `pair` say where the special tokens stand around one text and around two.
    """

    def __init__(
        self, backend: "Backend", special: Mapping[str, str], source: str, *, kind: str = WORDPIECE, spiece: bytes = b""
    ) -> None:
        """Takes ownership of a `tokenizers` object.

        `special` are the names of pad, unk, cls, sep and mask; `spiece` is SentencePiece's own file, if there is one.
        """
        self.kind, self._spiece = kind, spiece
        # Truncation is set per call and padding is done here, whatever the file says.
        backend.no_truncation()
        backend.no_padding()
        self._backend = backend
        self._source = source
        numbered = backend.get_vocab(with_added_tokens=True)
        self.vocab_size = len(numbered)
        limits.check("vocabulary", self.vocab_size, source)
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
        with refused_as(f"{source} must describe a tokenizer that splits any text."):
            self.single = read_template(backend, self.tokens, source, pairs=False)
            self.pair = read_template(backend, self.tokens, source, pairs=True)

    @classmethod
    def from_files(cls, files: Mapping[str, bytes], source: str = "The checkpoint") -> "Tokenizer":
        """From the bytes of a checkpoint's files by name; `source` names the checkpoint in messages."""
        # Set, so that `tokenizers` does not warn when a process that used it forks; false, because a pool's threads do
        # not survive a fork and one thread reads a hundred thousand sentences in seconds.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        made = make_backend(files, source)
        spiece = files.get(SPIECE, b"") if made.kind == SENTENCEPIECE else b""
        found = cls(made.backend, made.special, made.file, kind=made.kind, spiece=spiece)
        found._try()
        if made.file == TOKENIZER and spiece:
            _check_one_vocabulary(spiece, found.tokens)
        return found

    def _try(self) -> None:
        """Encodes a first text: some wrong files give a tokenizer that fails at any text, or with an unknown token."""
        with refused_as(f"{self._source} must describe a tokenizer that splits any text."):
            largest = max(
                int(self.encode([_FIRST], pair, max_len=_FIRST_LENGTH)[IDS].max()) for pair in (None, [_FIRST])
            )
        if largest >= self.vocab_size:
            raise InputError(
                f"{self._source} must put in tokens of its own vocabulary. "
                f"Received: number {largest} of {self.vocab_size} tokens."
            )

    @classmethod
    def from_folder(cls, folder: Path) -> "Tokenizer":
        """From the tokenizer files of a checkpoint folder."""
        return cls.from_files(read_tokenizer_files(Path(folder)), str(folder))

    def encode(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, max_len: int, pad: bool = True
    ) -> dict[str, np.ndarray]:
        """Ids, mask and segments, int32 [rows, length]; rows that are too long lose tokens of the longer text first.

        `pad` false pads to the longest row instead of to `max_len`.
        """
        if pairs is not None and len(pairs) != len(texts):
            raise ValueError(f"`texts` and `pairs` must be as many. Received: {len(texts)}, {len(pairs)}.")
        rows: Sequence[Any] = _clean(texts) if pairs is None else list(zip(_clean(texts), _clean(pairs), strict=True))
        inputs = _empty(len(rows), max_len, self.pad_id)
        self._truncate(max_len, self.single if pairs is None else self.pair)
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
        self._truncate(max_len, self.single)
        for start in range(0, len(rows), _CHUNK):
            words = [_clean(row) for row in rows[start : start + _CHUNK]]
            for i, row in enumerate(self._backend.encode_batch(words, is_pretokenized=True), start):
                _fill(inputs, i, row)
                for position, word in reversed(list(enumerate(row.word_ids))):  # backwards: the first piece stays
                    if word is not None:  # a special token has no word
                        first[i, word] = position
        self._backend.no_truncation()
        return EncodedWords(inputs=inputs, first=first)

    def pieces(self, texts: Sequence[str]) -> list[Pieces]:
        """Tokens of whole texts, without special ones and not truncated, with their places in the text."""
        found = []
        for start in range(0, len(texts), _CHUNK):
            batch = self._backend.encode_batch(_clean(texts[start : start + _CHUNK]), add_special_tokens=False)
            found += [Pieces(ids=row.ids, spans=row.offsets, words=row.word_ids) for row in batch]
        return found

    def basic_tokens(self, text: str) -> list[str]:
        """The normalised words and signs of a text, before they are split into pieces."""
        normalizer, splitter = self._backend.normalizer, self._backend.pre_tokenizer
        normalized = clean_text(text) if normalizer is None else normalizer.normalize_str(clean_text(text))
        return normalized.split() if splitter is None else [word for word, _ in splitter.pre_tokenize_str(normalized)]

    def token_id(self, token: str) -> int | None:
        return self._backend.token_to_id(token)

    def token(self, number: int) -> str:
        return self.tokens[number]

    def fits(self, rows: int) -> bool:
        """Whether a word embedding of so many rows has one for every token, and few others."""
        return 0 <= rows - self.vocab_size <= rows // _ROWS_PER_SPARE

    def embedding_notes(self, rows: int) -> tuple[str, ...]:
        """What to say of a word embedding with spare rows."""
        spare = rows - self.vocab_size
        if not spare:
            return ()
        what = f"The word embedding has {rows:,} rows for {self.vocab_size:,} tokens"
        return (f"{what}: {spare:,} of them have no token and are never read.",)

    def check_embedding(self, rows: int) -> None:
        """Refuses a vocabulary whose size does not fit the word embedding's: it belongs to another model."""
        if not self.fits(rows):
            harm = "ids beyond the table would be read" if self.vocab_size > rows else "rows of the table have no token"
            raise InputError(
                f"{self._source} must have as many tokens as the word embedding has rows, {rows}. "
                f"Received: {self.vocab_size} tokens ({harm}). Give the vocabulary that the model was trained with."
            )

    def files(self) -> dict[str, bytes]:
        """What an app needs besides the model: tokenizer.json, and vocab.txt (line = id) or SentencePiece's file."""
        if self.kind != WORDPIECE:
            own = {SPIECE: self._spiece} if self._spiece else {}
            return {**own, TOKENIZER: self._backend.to_str(pretty=False).encode()}
        for number, token in enumerate(self.tokens):
            if "\n" in token or "\r" in token or not token:
                raise InputError(
                    f"{self._source} must have tokens that fit on a line of {VOCAB}. Received: {token!r} (id {number})."
                )
        vocab = "".join(f"{token}\n" for token in self.tokens)
        return {VOCAB: vocab.encode(), TOKENIZER: self._backend.to_str(pretty=False).encode()}

    def document(self) -> dict[str, Any]:
        """tokenizer.json as a value."""
        return dict(json.loads(self._backend.to_str(pretty=False)))

    def same_vocabulary(self, other: "Tokenizer") -> bool:
        """Whether both have the same tokens under the same ids."""
        return self.kind == other.kind and self.tokens == other.tokens

    def _truncate(self, max_len: int, template: Template) -> None:
        specials = template.special_count
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


def _clean(texts: Sequence[str]) -> list[str]:
    return [clean_text(text) for text in texts]


def _in_order(numbered: Mapping[str, int], source: str) -> list[str]:
    tokens = sorted(numbered, key=numbered.__getitem__)
    for expected, token in enumerate(tokens):
        if numbered[token] != expected:
            raise InputError(
                f"{source} must number its {len(tokens)} tokens from 0 without gaps. "
                f"Received: {token!r} with number {numbered[token]} where {expected} was due."
            )
    return tokens


def _check_one_vocabulary(spiece: bytes, tokens: Sequence[str]) -> None:
    """The two must agree, since an app may read either file."""
    for number, (piece, _, _) in enumerate(read_spiece(spiece).pieces):
        token = tokens[number] if number < len(tokens) else None
        if token != piece:
            raise InputError(
                f"{SPIECE} and {TOKENIZER} must be of one vocabulary. "
                f"Received: {piece!r} and {token!r} with id {number}."
            )
