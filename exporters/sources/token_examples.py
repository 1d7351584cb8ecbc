"""The examples of a token model: texts, pairs or words, and the ids that its tokenizer gives for them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from exporters.data import rows as data_rows
from exporters.data.rows import Rows
from exporters.data.token_rows import TokenRows
from exporters.self_test import texts
from exporters.self_test.example import Example, Worked, tokens_entry
from exporters.self_test.texts import DATA, GENERATED
from models_tf.encoder.heads import QUESTION_ANSWERING, TOKEN_CLASSIFICATION
from models_tf.spec import SEGMENTS
from models_tf.tokenizers.tokenizer import Tokenizer

_Given = tuple[str, str, "str | None"]  # origin, text, second text


def worked_examples(
    rows: Rows,
    *,
    task: str,
    inputs: Sequence[str],
    max_seq_len: int,
    tokenizer: Tokenizer | None,
    graph: str,
    further: Mapping[str, tuple[str, ...]] | None = None,
) -> Worked:
    """From rows of the data where there are texts, else from plain ones; without a tokenizer, rows that are made up.
    `further` are the inputs of other graphs.
    """
    names = {graph: tuple(inputs), **(further or {})}
    if tokenizer is None:
        feed = next(iter(rows.evaluation.chunks(texts.COUNT)))
        arrays = {name: np.asarray(values) for name, values in feed.items()}
        made = [Example(origin=GENERATED, inputs=tokens_entry(arrays, row, inputs)) for row in range(_rows(arrays))]
        return Worked(examples=made, feed=arrays, inputs=names)
    given = _texts(rows, max_seq_len, pairs=SEGMENTS in inputs or task == QUESTION_ANSWERING)
    if task == TOKEN_CLASSIFICATION:
        return Worked(**_words(given, inputs, max_seq_len, tokenizer), inputs=names)
    # All of them are pairs, or none is.
    second = [two for _, _, two in given if two is not None]
    shown = tuple(dict.fromkeys(name for graph_inputs in names.values() for name in graph_inputs))
    arrays = tokenizer.encode([one for _, one, _ in given], second or None, max_len=max_seq_len)
    examples = [
        Example(origin=origin, text=one, text_pair=two, inputs=tokens_entry(arrays, row, shown))
        for row, (origin, one, two) in enumerate(given)
    ]
    return Worked(examples=examples, feed=arrays, inputs=names)


def _words(given: Sequence[_Given], inputs: Sequence[str], max_seq_len: int, tokenizer: Tokenizer) -> dict[str, Any]:
    """Also where each word begins among the tokens: its first piece has the tag."""
    sentences = [tuple(one.split()) for _, one, _ in given]
    encoded = tokenizer.encode_words(sentences, max_len=max_seq_len)
    examples = [
        Example(
            origin=origin,
            words=words,
            inputs={
                **tokens_entry(encoded.inputs, row, inputs),
                "word_starts": encoded.first[row, : len(words)].tolist(),
            },
        )
        for row, ((origin, _, _), words) in enumerate(zip(given, sentences, strict=True))
    ]
    return {"examples": examples, "feed": encoded.inputs}


def _texts(rows: Rows, max_seq_len: int, *, pairs: bool) -> list[_Given]:
    found = _of_data(rows)
    pairs = found[0][1] is not None if found else pairs
    first = texts.filled(found, DATA, lambda text: (text, None))
    hard = [(what, (text, None)) for what, text in texts.hard(max_seq_len).items()]
    return [(origin, one, (two or texts.SECOND) if pairs else None) for origin, (one, two) in (*first, *hard)]


def _of_data(rows: Rows) -> list[tuple[str, str | None]]:
    """Some texts of the rows, with their second texts where there are pairs."""
    examples = rows.evaluation
    if rows.source == data_rows.GENERATED or not isinstance(examples, TokenRows):
        return []
    given = [examples.texts(row) for row in range(len(examples))]
    picked = texts.spread([len(one) + len(two or "") for one, two in given])
    return [given[row] for row in picked]


def _rows(feed: Mapping[str, np.ndarray]) -> int:
    return len(next(iter(feed.values())))
