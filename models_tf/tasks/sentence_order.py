"""ALBERT's sentence order from plain text: are two neighbouring segments in their order, or swapped?

A file has one segment per line, and a blank line ends a document. Every two neighbours in a document are a row. Half of
the rows are swapped, always the same ones. Leaves out the masked words of ALBERT's pretraining.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from models_tf.data.held import hold, text_bytes
from models_tf.data.lines import read_lines
from models_tf.data.text import clean_text
from models_tf.encoder.heads import ORDER_LABELS
from models_tf.errors import InputError
from models_tf.spec import LOGITS
from models_tf.tasks.classification import ClassificationRows
from models_tf.tasks.rows import cut_rows, row_bytes
from models_tf.tokenizers.tokenizer import Tokenizer

SUFFIX = ".txt"
_SEED = 0


def reads(path: Path, labels: Sequence[str]) -> bool:
    """Whether the file is plain text and the head tells order."""
    return path.suffix.lower() == SUFFIX and tuple(labels) == ORDER_LABELS


def read_order(path: Path, *, tokenizer: Tokenizer, max_len: int) -> ClassificationRows:
    held = hold(neighbours(path), lambda pair: row_bytes("classification", 2, max_len) + text_bytes(*pair))
    pairs = held.rows
    if len(pairs) < 2:
        raise InputError(
            f"{path} must have documents of two or more segments, one per line, with a blank line between documents. "
            f"Received: {len(pairs)} pairs of segments."
        )
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
        notes=(*held.note(path), *cut_rows(inputs, path)),
    )


def neighbours(path: Path) -> Iterator[tuple[str, str]]:
    """All neighbouring segments of each document, without pairs of equal texts."""
    before = ""
    for line in read_lines(path):  # a text may hold U+2028 and similar
        segment = clean_text(" ".join(line.split()))
        if before and segment and before != segment:
            yield before, segment
        before = segment
