"""Reads spiece.model (XLM-RoBERTa: sentencepiece.bpe.model), the file of a SentencePiece vocabulary: the few protobuf
fields that tokens depend on.

Only the wire format is parsed, and every length is checked. Fields not named here are skipped, as protobuf requires.
`spiece_backend.py` and `xlmr_backend.py` turn the result into a tokenizer.
"""

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from models_tf.errors import InputError
from models_tf.tokenizers.files import DEBERTA_SPIECE, SPIECE, TOKENIZER

# Kinds of pieces, numbered as in sentencepiece_model.proto.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
_UNIGRAM = 1
_ALGORITHMS = {_UNIGRAM: "Unigram", 2: "BPE", 3: "words", 4: "characters"}
SPACE = "\u2581"  # stands for a space at the beginning of a word
# Fields of ModelProto and of the messages inside it.
_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3
_PIECE_TEXT, _PIECE_SCORE, _PIECE_KIND = 1, 2, 3
_TRAINER_ALGORITHM, _TRAINER_BYTE_FALLBACK = 3, 35
_CHARACTER_MAP = 2
# Normalizer settings that are true by default, and must be.
_MUST_BE_TRUE = {3: "add_dummy_prefix", 4: "remove_extra_whitespaces", 5: "escape_whitespaces"}
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
_REMEDY = f"Copy {SPIECE} again from where the model came from."

Value = int | bytes


@dataclass(frozen=True, kw_only=True)
class Spiece:
    """`pieces` (text, score, kind) by id; `character_map` is SentencePiece's compiled table, empty for none."""

    pieces: tuple[tuple[str, float, int], ...]
    character_map: bytes

    @property
    def unknown(self) -> int:
        """The id of the piece that stands for everything unknown."""
        return next(number for number, (_, _, kind) in enumerate(self.pieces) if kind == UNKNOWN)


def read_spiece(data: bytes, name: str = SPIECE) -> Spiece:
    """A file that is broken, or asks for something unsupported, raises a one-line InputError with its `name`."""
    try:
        # DeBERTa's has bytes as pieces, and yet its tokenizer takes the unknown piece for what no piece covers.
        return _read(data, bytes_too=name == DEBERTA_SPIECE)
    except InputError as error:
        raise InputError(str(error).replace(SPIECE, name)) from error


def _read(data: bytes, *, bytes_too: bool) -> Spiece:
    pieces: list[tuple[str, float, int]] = []
    character_map = b""
    for field, value in _fields(data, "the file"):
        if field == _PIECES:
            pieces.append(_piece(_message(value, f"piece {len(pieces)}"), len(pieces)))
        elif field == _TRAINER:
            algorithm = _UNIGRAM
            for part, inside in _fields(_message(value, "its trainer"), "its trainer"):
                if part == _TRAINER_ALGORITHM and isinstance(inside, int):
                    algorithm = inside
                elif part == _TRAINER_BYTE_FALLBACK and inside and not bytes_too:
                    raise InputError(
                        f"{SPIECE}: `byte_fallback` must be false. Received: true, which is not supported; "
                        f"give {TOKENIZER}."
                    )
            if algorithm != _UNIGRAM:
                received = _ALGORITHMS.get(algorithm, str(algorithm))
                raise InputError(
                    f"{SPIECE} must be a Unigram model, as ALBERT's and XLM-RoBERTa's are. Received: one of {received}."
                )
        elif field == _NORMALIZER:
            for part, inside in _fields(_message(value, "its normalizer"), "its normalizer"):
                if part == _CHARACTER_MAP:
                    character_map = _message(inside, "its character map")
                elif part in _MUST_BE_TRUE and not inside:
                    raise InputError(
                        f"{SPIECE}: `{_MUST_BE_TRUE[part]}` must be true. Received: false, which is not supported."
                    )
    _check(pieces)
    check_character_map(character_map)
    return Spiece(pieces=tuple(pieces), character_map=character_map)


def check_character_map(data: bytes) -> None:
    """Refuses a broken table: a trie (double array) and the texts its leaves point to.

    `tokenizers` follows it unchecked, so a broken one would crash the process.
    """
    import numpy as np

    if not data:
        return
    size = int.from_bytes(data[:4], "little")
    if len(data) < 4 or size % 4 or not 4 <= size <= len(data) - 4:
        _broken("a character map that is cut")
    units = np.frombuffer(data, "<u4", size // 4, 4)
    texts = data[4 + size :]
    try:
        texts.decode()
    except UnicodeDecodeError:
        _broken("a character map that is not UTF-8")
    starts = np.frombuffer(texts, np.uint8)
    labels = np.arange(1, 256, dtype=np.uint32)
    nodes, seen = np.zeros(1, np.uint32), np.zeros(len(units), bool)
    while len(nodes):
        seen[nodes] = True
        found = units[nodes]
        # A unit's bits: 31 leaf, 10 to 30 offset (in blocks of 256 if bit 9 is set), 8 "a value follows", 0 to 7 label.
        bases = nodes ^ ((found >> 10) << ((found & 512) >> 6))
        # Any next byte is looked up, whether it has a child or not: the 256 places around.
        if int((bases | 255).max()) >= len(units):
            _broken("a character map that points outside of itself")
        values = units[bases[(found & 256) != 0]] & 0x7FFFFFFF
        # A value is the start of a text: in bounds, and not in the middle of a character.
        if (values >= len(starts)).any() or ((starts[values] & 0xC0) == 0x80).any():
            _broken("a character map that points outside of its texts")
        children = (bases[:, None] ^ labels).ravel()
        ways = (units[children] & 0x800000FF) == np.tile(labels, len(bases))
        nodes = np.unique(children[ways & ~seen[children]])


def _check(pieces: list[tuple[str, float, int]]) -> None:
    if not pieces:
        raise InputError(f"{SPIECE} must be a SentencePiece model. Received: no pieces. {_REMEDY}")
    kinds = [kind for _, _, kind in pieces]
    if kinds.count(UNKNOWN) != 1:
        raise InputError(f"{SPIECE} must have one unknown piece. Received: {kinds.count(UNKNOWN)}. {_REMEDY}")
    numbers: dict[str, int] = {}
    for number, (text, score, _) in enumerate(pieces):
        if not text or text in numbers:
            received = f"{text!r} with ids {numbers[text]} and {number}" if text else f"an empty one, id {number}"
            raise InputError(f"{SPIECE} must have pieces that differ. Received: {received}. {_REMEDY}")
        if not math.isfinite(score):
            _broken(f"a score of {text!r} that is not a number")
        if SPACE in text[1:] and kinds[number] in (NORMAL, USER_DEFINED):
            raise InputError(
                f"{SPIECE} must have pieces that lie within a word, as ALBERT's do. Received: {text!r} (id {number})."
            )
        numbers[text] = number


def _piece(data: bytes, number: int) -> tuple[str, float, int]:
    text, score, kind = "", 0.0, NORMAL
    for field, value in _fields(data, f"piece {number}"):
        if field == _PIECE_TEXT:
            try:
                text = _message(value, f"piece {number}").decode()
            except UnicodeDecodeError:
                _broken(f"piece {number} that is not UTF-8")
        elif field == _PIECE_SCORE:
            if not isinstance(value, bytes) or len(value) != 4:
                _broken(f"a score of piece {number} of another type")
            (score,) = struct.unpack("<f", value)
        elif field == _PIECE_KIND:
            if not isinstance(value, int) or not NORMAL <= value <= BYTE:
                _broken(f"an unknown kind of piece {number}")
            kind = value
    return text, score, kind


def _message(value: Value, what: str) -> bytes:
    if not isinstance(value, bytes):
        _broken(f"{what} of another type")
    return value


def _fields(data: bytes, what: str) -> Iterator[tuple[int, Value]]:
    """Number and value of each field: a varint as an int, everything else as its bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at, what)
        field, kind = tag >> 3, tag & 7
        if not field:
            _broken(f"{what} that is not protobuf")
        if kind == _VARINT:
            number, at = _varint(data, at, what)
            yield field, number
            continue
        if kind == _BYTES:
            length, at = _varint(data, at, what)
        elif kind in (_FIXED32, _FIXED64):
            length = 4 if kind == _FIXED32 else 8
        else:
            _broken(f"{what} that is not protobuf")
        if length > len(data) - at:
            _broken(f"{what} that is cut")
        yield field, data[at : at + length]
        at += length


def _varint(data: bytes, at: int, what: str) -> tuple[int, int]:
    """A number in groups of 7 bits, at most 64 bits in all, and where it ends."""
    number = 0
    for size, byte in enumerate(data[at : at + _LONGEST_VARINT]):
        number |= (byte & 127) << 7 * size
        if byte < 128:
            return number, at + size + 1
    return _broken(f"{what} that is not protobuf" if len(data) - at >= _LONGEST_VARINT else f"{what} that is cut")


def _broken(received: str) -> NoReturn:
    raise InputError(f"{SPIECE} must be a SentencePiece model. Received: {received}. {_REMEDY}")
