"""ALBERT's sentence order from plain text: are two neighbouring segments in their order, or swapped?

A file has one segment per line, and a blank line ends a document. Every two neighbours in a document are a row. Half of
the rows are swapped, always the same ones. Leaves out the masked words of ALBERT's pretraining.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from models_tf.data.text import clean_text
from models_tf.encoder.heads import ORDER_LABELS
from models_tf.errors import InputError
from models_tf.spec import LOGITS
from models_tf.tasks.classification import ClassificationRows
from models_tf.tasks.rows import cut_rows
from models_tf.tokenizers.tokenizer import Tokenizer

SUFFIX = ".txt"
_SEED = 0


def reads(path: Path, labels: Sequence[str]) -> bool:
    """Whether the file is plain text and the head tells order."""
    return path.suffix.lower() == SUFFIX and tuple(labels) == ORDER_LABELS


def read_order(path: Path, *, tokenizer: Tokenizer, max_len: int) -> ClassificationRows:
    pairs = neighbours(path)
    swapped = np.zeros(len(pairs), bool)
    swapped[np.random.default_rng(_SEED).permutation(len(pairs))[: len(pairs) // 2]] = True
    texts = [pair[int(turned)] for pair, turned in zip(pairs, swapped, strict=True)]
    seconds = [pair[1 - int(turned)] for pair, turned in zip(pairs, swapped, strict=True)]
    inputs = tokenizer.encode(texts, seconds, max_len=max_len)
    return ClassificationRows(
        inputs=inputs,
        keys=[f"{one}\t{two}" for one, two in zip(texts, seconds, strict=True)],
        source=str(path),
        labels=ORDER_LABELS,
        targets={LOGITS: swapped.astype(np.int32)},
        pairs=True,
        notes=cut_rows(inputs, path),
    )


def neighbours(path: Path) -> list[tuple[str, str]]:
    """All neighbouring segments of each document, without pairs of equal texts."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path} must be UTF-8. Received: byte 0x{data[error.start]:02x} in line {number}.") from error
    found: list[tuple[str, str]] = []
    before = ""
    for line in text.split("\n"):  # not splitlines(): a text may hold U+2028 and similar
        segment = clean_text(" ".join(line.split()))
        if before and segment and before != segment:
            found.append((before, segment))
        before = segment
    if len(found) < 2:
        raise InputError(
            f"{path} must have documents of two or more segments, one per line, with a blank line between documents. "
            f"Received: {len(found)} pairs of segments."
        )
    return found
