"""A small WordPiece vocabulary for tests, and where the real data lies."""

import os
from pathlib import Path

import pytest

from models_tf.tokenizers.tokenizer import Tokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "a", "of", "in", "is", "was", "good", "bad", "film", "movie", "play", "##s", "##ing", "##ed", "un"]
WORDS += ["##able", "who", "where", "when", "lives", "berlin", "anna", "smith"]
SIGNS = list("abcdefghijklmnopqrstuvwxyz0123456789.,!?'-") + [f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz0123456789"]
TOKENS = SPECIAL + WORDS + [sign for sign in SIGNS if sign not in WORDS]
VOCAB = "".join(f"{token}\n" for token in TOKENS).encode()


def tiny_tokenizer() -> Tokenizer:
    return Tokenizer.from_files({"vocab.txt": VOCAB})


def data_folder(*parts: str) -> Path:
    """A file of the real data; the test is skipped without it."""
    root = os.environ.get("EXPORT_MOBILE_DATA")
    if not root:
        pytest.skip("needs EXPORT_MOBILE_DATA, the folder of real data")
    path = Path(root, *parts)
    if not path.exists():
        pytest.skip(f"needs {path.name} in EXPORT_MOBILE_DATA")
    return path
