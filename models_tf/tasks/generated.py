"""Made-up rows: random tokens and lengths, [CLS] and [SEP] where they belong. They can be compared, but not scored."""

from typing import Any

import numpy as np

from models_tf.spec import IDS, MASK, SEGMENTS
from models_tf.tasks import EMBEDDING, QUESTION_ANSWERING, REGRESSION, TOKEN_CLASSIFICATION
from models_tf.tasks.classification import ClassificationRows, RegressionRows
from models_tf.tasks.embedding import EmbeddingRows
from models_tf.tasks.question_answering import QuestionRows
from models_tf.tasks.rows import TaskRows
from models_tf.tasks.tagging import TaggingRows
from models_tf.tokenizers.tokenizer import Tokenizer

# Where BERT's own vocabulary has them; a smaller one has them where it can.
_CLS, _SEP = 101, 102
SOURCE = "generated"


def generate(
    task: str,
    tokenizer: Tokenizer | int,
    *,
    max_len: int,
    count: int,
    seed: int,
    pairs: bool,
    labels: tuple[str, ...],
) -> TaskRows:
    """Rows of all lengths, the shortest and the longest possible among them. A question always has a pair."""
    pairs = pairs or task == QUESTION_ANSWERING
    inputs = generated_inputs(tokenizer, max_len=max_len, count=count, seed=seed, pairs=pairs)
    shared: dict[str, Any] = {
        "inputs": inputs,
        "keys": [f"{SOURCE} {seed} {i}" for i in range(count)],
        "source": SOURCE,
        "labels": labels,
        "pairs": pairs,
    }
    if task == TOKEN_CLASSIFICATION:
        words = inputs[MASK].sum(axis=1) - 2  # a word a token, without [CLS] and [SEP]
        places = np.arange(max_len - 2)
        first = np.where(places < words[:, None], places + 1, -1).astype(np.int32)
        return TaggingRows(**shared, first=first, words=words.astype(np.int32))
    if task == QUESTION_ANSWERING:
        return QuestionRows(**shared, windows=())
    if task == EMBEDDING:
        return EmbeddingRows(**shared, sentences=tuple(shared["keys"]))
    return RegressionRows(**shared) if task == REGRESSION else ClassificationRows(**shared)


def generated_inputs(
    tokenizer: Tokenizer | int, *, max_len: int, count: int, seed: int, pairs: bool
) -> dict[str, np.ndarray]:
    """Ids, mask and segments, int32 [count, max_len]."""
    if isinstance(tokenizer, Tokenizer):
        size, pad, cls, sep = tokenizer.vocab_size, tokenizer.pad_id, tokenizer.cls_id, tokenizer.sep_id
    else:
        size, pad = tokenizer, 0
        cls, sep = (_CLS, _SEP) if size > _SEP else (1 % size, 2 % size)
    shortest = 5 if pairs else 3
    if max_len < shortest or count < 1:
        raise ValueError(f"`max_len` must be at least {shortest}, `count` at least 1. Received: {max_len}, {count}.")
    generator = np.random.default_rng(seed)
    lengths = generator.integers(shortest, max_len + 1, count)
    lengths[:2] = [max_len, shortest][:count]
    at, last = np.arange(max_len), lengths[:, None] - 1
    mask = at <= last
    ids = np.where(mask, generator.integers(0, size, (count, max_len)), pad)
    ids[:, 0] = cls
    ids[at == last] = sep
    segments = np.zeros_like(ids)
    if pairs:
        middle = generator.integers(2, lengths - 2)[:, None]  # the first [SEP], a token at least on both sides
        ids[at == middle] = sep
        segments = ((at > middle) & mask).astype(np.int32)
    return {IDS: ids.astype(np.int32), MASK: mask.astype(np.int32), SEGMENTS: segments.astype(np.int32)}
