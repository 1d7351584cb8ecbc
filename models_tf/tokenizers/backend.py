"""A tokenizer of the `tokenizers` package from a checkpoint's files.

tokenizer.json decides where there is one; otherwise spiece.model (SentencePiece, see `spiece_backend.py`),
sentencepiece.bpe.model (XLM-RoBERTa's, see `xlmr_backend.py`), spm.model (DeBERTa's, see `deberta_backend.py`),
vocab.txt (WordPiece, see `wordpiece_backend.py`) or vocab.json with merges.txt (byte pairs, see `bpe_backend.py`), each
with tokenizer_config.json.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from models_tf.checkpoints.json_text import parse_json
from models_tf.errors import InputError
from models_tf.tokenizers import bpe_backend, deberta_backend, spiece_backend, wordpiece_backend, xlmr_backend
from models_tf.tokenizers.files import (
    DEBERTA_SPIECE,
    MERGES,
    PIECES,
    SETTINGS,
    SPECIAL_TOKENS,
    SPIECE,
    TOKENIZER,
    VOCAB,
    XLMR_SPIECE,
)
from models_tf.tokenizers.spiece_file import read_spiece

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

KINDS = WORDPIECE, SENTENCEPIECE, BYTE_PAIRS = ("wordpiece", "sentencepiece", "byte-pairs")
_MODELS = {"Unigram": SENTENCEPIECE, "BPE": BYTE_PAIRS}  # what tokenizer.json calls them; all others are WordPiece
_SPECIAL = {
    WORDPIECE: wordpiece_backend.SPECIAL, SENTENCEPIECE: spiece_backend.SPECIAL, BYTE_PAIRS: bpe_backend.SPECIAL
}  # fmt: skip


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
        special = _special(settings, kind, backend.get_vocab(with_added_tokens=True))
        return MadeBackend(backend=backend, kind=kind, file=TOKENIZER, special=special)
    if SPIECE in files:
        special = _special(settings, SENTENCEPIECE)
        backend = _from_spiece(files[SPIECE], settings, special)
        return MadeBackend(backend=backend, kind=SENTENCEPIECE, file=SPIECE, special=special)
    if XLMR_SPIECE in files:
        special = _special(settings, SENTENCEPIECE, xlmr_backend.FIRST)
        backend = xlmr_backend.make_backend(read_spiece(files[XLMR_SPIECE], XLMR_SPIECE), special)
        return MadeBackend(backend=backend, kind=SENTENCEPIECE, file=XLMR_SPIECE, special=special)
    if DEBERTA_SPIECE in files:
        special = _special(settings, WORDPIECE)  # which has the same names
        return MadeBackend(
            backend=_from_deberta(files[DEBERTA_SPIECE], settings, special),
            kind=SENTENCEPIECE,
            file=DEBERTA_SPIECE,
            special=special,
        )
    if VOCAB in files:
        special = _special(settings, WORDPIECE)
        backend = _from_vocab(files[VOCAB], settings, special)
        return MadeBackend(backend=backend, kind=WORDPIECE, file=VOCAB, special=special)
    if PIECES in files and MERGES in files:
        special = _special(settings, BYTE_PAIRS)
        prefix = bool(_flag(settings, "add_prefix_space", False))
        backend = bpe_backend.make_backend(files[PIECES], files[MERGES], special, add_prefix_space=prefix)
        return MadeBackend(backend=backend, kind=BYTE_PAIRS, file=PIECES, special=special)
    raise InputError(
        f"{source} must have {TOKENIZER}, {SPIECE}, {XLMR_SPIECE} or {DEBERTA_SPIECE} (SentencePiece), {VOCAB} "
        f"(WordPiece), or {PIECES} and {MERGES}. "
        f"Received: {', '.join(sorted(files)) or 'none of them'}. Copy the file from where the model came from."
    )


def _special(settings: Mapping[str, Any], kind: str, vocab: Collection[str] = ()) -> dict[str, str]:
    """The names that the settings say, else those of the kind; a `vocab` without these may have those of another."""
    usual = _SPECIAL[kind]
    if kind == WORDPIECE and settings.get("tokenizer_class") in wordpiece_backend.MPNET_CLASSES:
        usual = wordpiece_backend.MPNET_SPECIAL
    names = next((one for one in (usual, *_SPECIAL.values()) if {one["cls"], one["pad"]} <= set(vocab)), usual)
    return {which: _special_name(settings, which, name) for which, name in names.items()}


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
    try:
        backend, kind = Backend.from_buffer(data), _MODELS.get(str(document["model"].get("type")), WORDPIECE)
        around = document.get("post_processor") or {}
        if name := _undefined(around):
            raise ValueError(f"a template with {name!r}, which is not among its `special_tokens`")
        if kind == WORDPIECE and around.get("type") == "RobertaProcessing":  # MPNet's
            backend.post_processor = wordpiece_backend.two_separators(tuple(around["cls"]), tuple(around["sep"]))
        return backend, kind
    except Exception as error:  # `tokenizers` raises nothing more specific
        raise InputError(f"{TOKENIZER} must describe a tokenizer. Received: {_one_line(error)}.") from error


def _undefined(around: Mapping[str, Any]) -> str | None:
    """A special token of a template that the template does not number: `tokenizers` reads it, and ends the process with
    the first text.
    """
    for part in around.get("processors", [around]):
        pieces = [*part.get("single", ()), *part.get("pair", ())]
        names = [piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece]
        if missing := [name for name in names if name not in part["special_tokens"]]:
            return str(missing[0])
    return None


def _from_vocab(data: bytes, settings: Mapping[str, Any], special: Mapping[str, str]) -> "Backend":
    return wordpiece_backend.make_backend(
        data,
        special,
        never_split=_never_split(settings),
        lower_case=bool(_flag(settings, "do_lower_case", True)),
        strip_accents=_flag(settings, "strip_accents", None),
        split_chinese=bool(_flag(settings, "tokenize_chinese_chars", True)),
    )


def _from_spiece(data: bytes, settings: Mapping[str, Any], special: Mapping[str, str]) -> "Backend":
    return spiece_backend.make_backend(
        read_spiece(data),
        special,
        lower_case=bool(_flag(settings, "do_lower_case", True)),
        keep_accents=bool(_flag(settings, "keep_accents", False)),
    )


def _from_deberta(data: bytes, settings: Mapping[str, Any], special: Mapping[str, str]) -> "Backend":
    if _flag(settings, "split_by_punct", False):
        raise InputError(
            f"{SETTINGS}: `split_by_punct` must be false. Received: true, which is not supported; give {TOKENIZER}."
        )
    lower_case = bool(_flag(settings, "do_lower_case", False))
    return deberta_backend.make_backend(read_spiece(data, DEBERTA_SPIECE), special, lower_case=lower_case)


def _never_split(settings: Mapping[str, Any]) -> list[str]:
    names = settings.get("never_split", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{SETTINGS}: `never_split` must be a list of tokens. Received: {names!r}.")
    return names


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
