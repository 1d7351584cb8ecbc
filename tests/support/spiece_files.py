"""Files of SentencePiece for tests: a writer of spiece.model, and one that was made by SentencePiece itself.

tests/golden/spiece.model was trained by sentencepiece 0.2.2 on this project's pages (600 pieces, a small character map
with rules of its own); spiece.json holds what that library answers.
"""

import struct
from collections.abc import Sequence
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
SPECIAL = (("<pad>", 0.0, CONTROL), ("<unk>", 0.0, UNKNOWN), ("[CLS]", 0.0, CONTROL), ("[SEP]", 0.0, CONTROL))
SPECIAL += (("[MASK]", 0.0, CONTROL),)
XLMR_FRONT = (("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL))
XLMR_TOKENS = 600  # of `xlmr_model`, with <pad> and <mask>
DEBERTA_TOKENS = 600  # of `deberta_model`, with [MASK]
WORDS = ("the", "film", "was", "good", "bad", "play", "berlin", "anna", "smith", "lives", "in", "a", "of")
# Whole words cost less than their letters; every letter is there inside of a word and `▁` stands alone.
PIECES = (
    *SPECIAL,
    *((f"\u2581{word}", -3.0 - 0.1 * number, NORMAL) for number, word in enumerate(WORDS)),
    ("\u2581", -4.0, NORMAL),
    *(
        (letter, -6.0 - 0.01 * number, NORMAL)
        for number, letter in enumerate("abcdefghijklmnopqrstuvwxyz0123456789.,!?'-")
    ),
)


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes((*found, number))


def message(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def piece(text: bytes, score: float, kind: int) -> bytes:
    return message(1, text) + varint(2 << 3 | 5) + struct.pack("<f", score) + number(3, kind)


def xlmr_model() -> bytes:
    """A sentencepiece.bpe.model: the golden pieces and character map, numbered as XLM-RoBERTa's file numbers them."""
    from models_tf.tokenizers.spiece_file import read_spiece

    golden = read_spiece((GOLDEN / "spiece.model").read_bytes())
    return spiece_model((*XLMR_FRONT, *golden.pieces[5:]), normalizer=message(2, golden.character_map))


def deberta_model(*, character_map: bool = True, byte_fallback: bool = False) -> bytes:
    """An spm.model: the golden pieces behind those that DeBERTa's file begins with, and the bytes of v3's file."""
    from models_tf.tokenizers.spiece_file import read_spiece

    golden = read_spiece((GOLDEN / "spiece.model").read_bytes())
    front = [("[PAD]", 0.0, CONTROL), ("[CLS]", 0.0, CONTROL), ("[SEP]", 0.0, CONTROL), ("[UNK]", 0.0, UNKNOWN)]
    if byte_fallback:
        front += [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    normalizer = message(2, golden.character_map) if character_map else b""
    trainer = number(35, 1) if byte_fallback else b""
    return spiece_model((*front, *golden.pieces[5:]), trainer=trainer, normalizer=normalizer)


def spiece_model(
    pieces: Sequence[tuple[str, float, int]] = PIECES, *, trainer: bytes = b"", normalizer: bytes = b""
) -> bytes:
    """A model of these pieces; `trainer` and `normalizer` are fields of their messages."""
    body = b"".join(message(1, piece(text.encode(), score, kind)) for text, score, kind in pieces)
    return body + message(2, number(3, 1) + number(40, 1) + trainer) + message(3, message(1, b"identity") + normalizer)
