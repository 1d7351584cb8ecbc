"""Sentences without tags as inputs of a tagger, with the place of each word's first piece."""

from pathlib import Path

import numpy as np

from models_tf.data.text import clean_text
from models_tf.errors import InputError
from models_tf.tasks.rows import cut_rows
from models_tf.tasks.tagging import TaggingRows
from models_tf.tokenizers.tokenizer import Tokenizer


def encode_untagged(sentences: list[list[str]], path: Path, *, tokenizer: Tokenizer, max_len: int) -> TaggingRows:
    """Sentences of the file `path`; `labels` and `targets` are empty."""
    cleaned = [[clean_text(word) for word in words] for words in sentences]
    encoded = tokenizer.encode_words(cleaned, max_len=max_len)
    if not (encoded.first >= 0).any():
        raise InputError(f"{path} must have words that the tokenizer knows. Received: none.")
    return TaggingRows(
        inputs=encoded.inputs,
        keys=[" ".join(words) for words in cleaned],
        source=str(path),
        notes=cut_rows(encoded.inputs, path),
        first=encoded.first,
        words=np.array([len(words) for words in cleaned], np.int32),
    )
