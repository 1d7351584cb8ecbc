"""Made-up rows: random tokens and lengths, special tokens where they belong. They can be compared, but not scored."""

from typing import Any

import numpy as np

from models_tf.errors import InputError
from models_tf.spec import IDS, MASK, SEGMENTS
from models_tf.tasks import EMBEDDING, QUESTION_ANSWERING, REGRESSION, TOKEN_CLASSIFICATION
from models_tf.tasks.classification import ClassificationRows, RegressionRows
from models_tf.tasks.embedding import EmbeddingRows
from models_tf.tasks.question_answering import QuestionRows
from models_tf.tasks.rows import TaskRows
from models_tf.tasks.tagging import TaggingRows
from models_tf.tokenizers.template import Template, bert_template
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
        template = _template(tokenizer, pairs=False)
        words = inputs[MASK].sum(axis=1) - template.special_count  # a word a token
        places = np.arange(max_len - template.special_count)
        first = np.where(places < words[:, None], places + template.start(), -1).astype(np.int32)
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
        size, pad = tokenizer.vocab_size, tokenizer.pad_id
    else:
        size, pad = tokenizer, 0
    template = _template(tokenizer, pairs=pairs)
    shortest = template.special_count + 1 + pairs
    if max_len < shortest:
        raise InputError(
            f"--max-seq-len must be at least {shortest}: {template.special_count} special tokens and one of "
            f"{'each' if pairs else 'the'} text. Received: {max_len}."
        )
    if count < 1:
        raise ValueError(f"`count` must be at least 1. Received: {count}.")
    generator = np.random.default_rng(seed)
    lengths = generator.integers(shortest, max_len + 1, count)
    lengths[:2] = [max_len, shortest][:count]
    tokens = generator.integers(0, size, (count, max_len))
    texts = lengths - template.special_count
    # The first text of a pair, with a token at least on both sides.
    first = generator.integers(1, texts) if pairs else texts
    inputs = {name: np.zeros((count, max_len), np.int32) for name in (IDS, MASK, SEGMENTS)}
    inputs[IDS][:] = pad
    for i, length in enumerate(lengths):
        given = [tokens[i, template.start() :][: first[i]].tolist()]
        if pairs:
            given.append(tokens[i, template.start(int(first[i])) :][: texts[i] - first[i]].tolist())
        inputs[IDS][i, :length], inputs[SEGMENTS][i, :length] = template.row(*given)
        inputs[MASK][i, :length] = 1
    return inputs


def _template(tokenizer: Tokenizer | int, *, pairs: bool) -> Template:
    if isinstance(tokenizer, Tokenizer):
        return tokenizer.pair if pairs else tokenizer.single
    cls, sep = (_CLS, _SEP) if tokenizer > _SEP else (1 % tokenizer, 2 % tokenizer)
    return bert_template(cls, sep, pairs=pairs)
