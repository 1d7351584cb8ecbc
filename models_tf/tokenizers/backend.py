"""A tokenizer of the `tokenizers` package from a checkpoint's files.

tokenizer.json decides where there is one; otherwise spiece.model (SentencePiece, see `spiece_backend.py`),
sentencepiece.bpe.model (XLM-RoBERTa's, see `xlmr_backend.py`), spm.model (DeBERTa's, see `deberta_backend.py`),
vocab.txt (WordPiece, see `wordpiece_backend.py`) or vocab.json with merges.txt (byte pairs, see `bpe_backend.py`), each
with tokenizer_config.json and the tokens that were added (`added_tokens.py`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from models_tf.checkpoints.json_text import parse_json
from models_tf.errors import InputError
from models_tf.tokenizers import bpe_backend, deberta_backend, spiece_backend, wordpiece_backend, xlmr_backend
from models_tf.tokenizers.added_tokens import add_tokens
from models_tf.tokenizers.files import (
    BYTE_PAIRS,
    DEBERTA_SPIECE,
    MERGES,
    PIECES,
    SENTENCEPIECE,
    SETTINGS,
    SPECIAL_TOKENS,
    SPIECE,
    TOKENIZER,
    VOCAB,
    WORDPIECE,
    XLMR_SPIECE,
)
from models_tf.tokenizers.json_checks import check_document
from models_tf.tokenizers.refusals import refused_as
from models_tf.tokenizers.spiece_file import read_spiece

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

_MODELS = {"Unigram": SENTENCEPIECE, "BPE": BYTE_PAIRS}  # what tokenizer.json calls them; all others are WordPiece
_SPECIAL = {
    WORDPIECE: wordpiece_backend.SPECIAL, SENTENCEPIECE: spiece_backend.SPECIAL, BYTE_PAIRS: bpe_backend.SPECIAL
}  # fmt: skip
LOWER_CASE, STRIP_ACCENTS, SPLIT_CHINESE = "do_lower_case", "strip_accents", "tokenize_chinese_chars"
PREFIX_SPACE = "add_prefix_space"
# What these are called in BERT's normalizer.
_OF_NORMALIZER = {LOWER_CASE: "lowercase", STRIP_ACCENTS: "strip_accents", SPLIT_CHINESE: "handle_chinese_chars"}


@dataclass(frozen=True, kw_only=True)
class MadeBackend:
    """`file` is the one that it was made from; `special` are the names of pad, unk, cls, sep and mask."""

    backend: "Backend"
    kind: str
    file: str
    special: Mapping[str, str]


def make_backend(files: Mapping[str, bytes], source: str) -> MadeBackend:
    """From the bytes of files by name; `source` names the checkpoint in messages."""
    settings = _settings(files)
    if TOKENIZER in files:
        backend, kind = _from_json(files[TOKENIZER])
        _apply_stated(backend, settings)
        special = _special_of_json(settings, kind, backend.get_vocab(with_added_tokens=True))
        return MadeBackend(backend=backend, kind=kind, file=TOKENIZER, special=special)
    made = _from_own_files(files, settings, source)
    add_tokens(made.backend, files, settings, made.special.values())
    return made


def _from_own_files(files: Mapping[str, bytes], settings: Mapping[str, Any], source: str) -> MadeBackend:
    """From a vocabulary in the model's own form, without added tokens."""
    if SPIECE in files:
        special = _special(settings, spiece_backend.SPECIAL)
        backend = _from_spiece(files[SPIECE], settings, special)
        return MadeBackend(backend=backend, kind=SENTENCEPIECE, file=SPIECE, special=special)
    if XLMR_SPIECE in files:
        special = _special(settings, bpe_backend.SPECIAL)  # which are XLM-RoBERTa's too
        backend = xlmr_backend.make_backend(read_spiece(files[XLMR_SPIECE], XLMR_SPIECE), special)
        return MadeBackend(backend=backend, kind=SENTENCEPIECE, file=XLMR_SPIECE, special=special)
    if DEBERTA_SPIECE in files:
        special = _special(settings, wordpiece_backend.SPECIAL)  # which are DeBERTa's too
        return MadeBackend(
            backend=_from_deberta(files[DEBERTA_SPIECE], settings, special),
            kind=SENTENCEPIECE,
            file=DEBERTA_SPIECE,
            special=special,
        )
    if VOCAB in files:
        vocab = wordpiece_backend.read_vocab(files[VOCAB])
        special = _special(settings, wordpiece_backend.special_of(settings, vocab))
        backend = _from_vocab(vocab, settings, special)
        return MadeBackend(backend=backend, kind=WORDPIECE, file=VOCAB, special=special)
    if PIECES in files and MERGES in files:
        special = _special(settings, bpe_backend.SPECIAL)
        prefix = bool(_flag(settings, PREFIX_SPACE, False))
        backend = bpe_backend.make_backend(files[PIECES], files[MERGES], special, add_prefix_space=prefix)
        return MadeBackend(backend=backend, kind=BYTE_PAIRS, file=PIECES, special=special)
    raise InputError(
        f"{source} must have {TOKENIZER}, {SPIECE}, {XLMR_SPIECE} or {DEBERTA_SPIECE} (SentencePiece), {VOCAB} "
        f"(WordPiece), or {PIECES} and {MERGES}. "
        f"Received: {', '.join(sorted(files)) or 'none of them'}. Copy the file from where the model came from."
    )


def with_spaced_words(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of byte pairs with a space before each word of a list, as words inside of a text have it. Pretrained
    models know a word without one as the end of another; a list has no spaces. All other files as they are.
    """
    if make_backend(files, "The checkpoint").kind != BYTE_PAIRS:
        return dict(files)
    settings = parse_json(files.get(SETTINGS, b"{}"), f"{SETTINGS} must be JSON.")
    return {**files, SETTINGS: json.dumps({**settings, PREFIX_SPACE: True}, indent=2).encode()}


def _special(settings: Mapping[str, Any], usual: Mapping[str, str]) -> dict[str, str]:
    """The names that the settings say, else the `usual` ones."""
    return {which: _special_name(settings, which, name) for which, name in usual.items()}


def _special_of_json(settings: Mapping[str, Any], kind: str, vocab: Mapping[str, int]) -> dict[str, str]:
    """A `vocab` without the usual names of its kind may have those of another."""
    usual = wordpiece_backend.special_of(settings, vocab) if kind == WORDPIECE else _SPECIAL[kind]
    names = next((one for one in (usual, *_SPECIAL.values()) if {one["cls"], one["pad"]} <= vocab.keys()), usual)
    return _special(settings, names)


def _settings(files: Mapping[str, bytes]) -> dict[str, Any]:
    """tokenizer_config.json over special_tokens_map.json."""
    merged: dict[str, Any] = {}
    for name in (SPECIAL_TOKENS, SETTINGS):
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
        raise InputError(f"{SETTINGS}: `{kind}_token` must be text. Received: {value!r}.")
    return name


def _flag(settings: Mapping[str, Any], name: str, default: bool | None) -> bool | None:
    value = settings.get(name, default)
    if value is not None and not isinstance(value, bool):
        raise InputError(f"{SETTINGS}: `{name}` must be true or false. Received: {value!r}.")
    return value


def _from_json(data: bytes) -> "tuple[Backend, str]":
    """The tokenizer and its kind."""
    from tokenizers import Tokenizer as Backend

    document = parse_json(data, f"{TOKENIZER} must be JSON.")
    if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
        raise InputError(f"{TOKENIZER} must describe a tokenizer, with `model`. Received: something else.")
    check_document(document)
    with refused_as(f"{TOKENIZER} must describe a tokenizer."):
        backend, kind = Backend.from_buffer(data), _MODELS.get(str(document["model"].get("type")), WORDPIECE)
        around = document.get("post_processor") or {}
        if kind == WORDPIECE and around.get("type") == "RobertaProcessing":  # MPNet's
            backend.post_processor = wordpiece_backend.two_separators(tuple(around["cls"]), tuple(around["sep"]))
    return backend, kind


def _apply_stated(backend: "Backend", settings: Mapping[str, Any]) -> None:
    """As in `transformers`, what the settings state counts more than what tokenizer.json says. Leaves out normalizers
    and splitters that are made of several steps.
    """
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import ByteLevel

    for part, kind, attributes in (
        (backend.normalizer, BertNormalizer, _OF_NORMALIZER),
        (backend.pre_tokenizer, ByteLevel, {PREFIX_SPACE: PREFIX_SPACE}),
    ):
        for key, attribute in attributes.items() if isinstance(part, kind) else ():
            if (stated := _flag(settings, key, None)) is not None:
                setattr(part, attribute, stated)


def _from_vocab(vocab: dict[str, int], settings: Mapping[str, Any], special: Mapping[str, str]) -> "Backend":
    return wordpiece_backend.make_backend(
        vocab,
        special,
        never_split=_never_split(settings),
        lower_case=bool(_flag(settings, LOWER_CASE, True)),
        strip_accents=_flag(settings, STRIP_ACCENTS, None),
        split_chinese=bool(_flag(settings, SPLIT_CHINESE, True)),
    )


def _from_spiece(data: bytes, settings: Mapping[str, Any], special: Mapping[str, str]) -> "Backend":
    return spiece_backend.make_backend(
        read_spiece(data),
        special,
        lower_case=bool(_flag(settings, LOWER_CASE, True)),
        keep_accents=bool(_flag(settings, "keep_accents", False)),
    )


def _from_deberta(data: bytes, settings: Mapping[str, Any], special: Mapping[str, str]) -> "Backend":
    if _flag(settings, "split_by_punct", False):
        raise InputError(
            f"{SETTINGS}: `split_by_punct` must be false. Received: true, which is not supported; give {TOKENIZER}."
        )
    lower_case = bool(_flag(settings, LOWER_CASE, False))
    return deberta_backend.make_backend(read_spiece(data, DEBERTA_SPIECE), special, lower_case=lower_case)


def _never_split(settings: Mapping[str, Any]) -> list[str]:
    names = settings.get("never_split", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{SETTINGS}: `never_split` must be a list of tokens. Received: {names!r}.")
    return names
