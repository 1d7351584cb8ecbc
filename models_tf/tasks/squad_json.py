"""Reader of SQuAD's raw JSON, version 1.1: every question has an answer, and answers say where they begin.

Leaves out SQuAD 2.0's questions without an answer.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from models_tf import limits
from models_tf.bounded_files import what_is
from models_tf.checkpoints.json_text import read_json_file
from models_tf.data.held import hold
from models_tf.data.text import clean_text
from models_tf.errors import InputError
from models_tf.spec import END_LOGITS, IDS, MASK, SEGMENTS, START_LOGITS
from models_tf.tasks.rows import row_bytes
from models_tf.tasks.squad_windows import Question, SpanWindow, Window, cut, most_context
from models_tf.tokenizers.tokenizer import Pieces, Tokenizer

_WINDOW_BYTES = 2000  # objects for the tokens of a window

SquadRows = tuple[dict[str, np.ndarray], list[Window], dict[str, np.ndarray] | None, tuple[str, ...]]
_Asked = tuple[Question, str, "tuple[int, int] | None"]  # question, passage, place of the first answer


def read_json(
    path: Path, *, tokenizer: Tokenizer, max_len: int, doc_stride: int, max_query_len: int, labelled: bool
) -> SquadRows:
    """Inputs, windows, targets and notes of all questions."""
    if min(doc_stride, max_query_len) < 1:
        raise ValueError(
            f"`doc_stride` and `max_query_len` must be at least 1. Received: {doc_stride}, {max_query_len}."
        )
    # Windows of a question overlap, and a token has some four characters: that tells how many there will be.
    per_window, stride = row_bytes("question-answering", 2, max_len) + _WINDOW_BYTES, 4 * doc_stride
    held = hold(_questions(path, labelled), lambda asked: per_window * (1 + len(asked[1]) // stride))
    asked = held.rows
    passages = sorted({passage for _, passage, _ in asked})
    pieces = dict(zip(passages, tokenizer.pieces(passages), strict=True))
    queries = tokenizer.pieces([question.text for question, _, _ in asked])
    windows: list[Window] = []
    made: list[tuple[list[int], list[int]]] = []  # ids and segments
    positions: list[tuple[int, int]] = []
    for (question, passage, place), query in zip(asked, queries, strict=True):
        query_ids = query.ids[:max_query_len]
        capacity = max_len - len(query_ids) - tokenizer.pair.special_count
        if capacity < 1:
            raise InputError(
                f"The sequence length must leave room for a passage after a question of {len(query_ids)} tokens. "
                f"Received: {max_len}."
            )
        body = pieces[passage]
        limits.check("passage_tokens", len(body.ids), f"{path} question {question.id}: the passage")
        if not body.ids or not query_ids:
            raise InputError(f"{path} question {question.id} must have words and a passage. Received: an empty text.")
        cuts = cut(len(body.ids), capacity, doc_stride)
        offset = tokenizer.pair.start(len(query_ids))
        for (first, length), best in zip(cuts, most_context(cuts, len(body.ids)), strict=True):
            part = slice(first, first + length)
            made.append(tokenizer.pair.row(query_ids, body.ids[part]))
            windows.append(
                SpanWindow(question=question, offset=offset, max_context=best, passage=passage, spans=body.spans[part])
            )
            positions.append((0, 0) if place is None else _position(body, place, first, length, offset))
    inputs = _inputs(made, max_len, tokenizer.pad_id)
    if not labelled:
        return inputs, windows, None, held.note(path)
    starts, ends = np.array(positions, np.int32).reshape(-1, 2).T
    return inputs, windows, {START_LOGITS: starts.copy(), END_LOGITS: ends.copy()}, held.note(path)


def _inputs(made: Sequence[tuple[list[int], list[int]]], max_len: int, pad_id: int) -> dict[str, np.ndarray]:
    inputs = {name: np.zeros((len(made), max_len), np.int32) for name in (IDS, MASK, SEGMENTS)}
    inputs[IDS][:] = pad_id
    for i, (ids, segments) in enumerate(made):
        inputs[IDS][i, : len(ids)] = ids
        inputs[MASK][i, : len(ids)] = 1
        inputs[SEGMENTS][i, : len(ids)] = segments
    return inputs


def _position(body: Pieces, place: tuple[int, int], first: int, length: int, offset: int) -> tuple[int, int]:
    """Positions of an answer's first and last token in a window; (0, 0) where it is not wholly inside."""
    touched = [i for i, (start, end) in enumerate(body.spans) if end > place[0] and start < place[1]]
    if not touched or touched[0] < first or touched[-1] >= first + length:
        return 0, 0
    return touched[0] - first + offset, touched[-1] - first + offset


def _questions(path: Path, labelled: bool) -> Iterator[_Asked]:
    if not path.is_file():
        raise InputError(f"Data file must exist. Received: {path} ({what_is(path)}).")
    document = read_json_file(path, f"{path} must be SQuAD's JSON.")
    seen: set[str] = set()
    for i, article in enumerate(_get(document, "data", list, str(path))):
        for j, paragraph in enumerate(_get(article, "paragraphs", list, f"{path} data[{i}]")):
            where = f"{path} data[{i}].paragraphs[{j}]"
            passage = clean_text(_get(paragraph, "context", str, where))
            for entry in _get(paragraph, "qas", list, where):
                name = _get(entry, "id", str, where)
                if name in seen:
                    raise InputError(f"{path} must have each question once. Received: id {name!r} twice.")
                seen.add(name)
                text = clean_text(_get(entry, "question", str, f"{path} question {name}"))
                answers, place = _answers(entry, passage, f"{path} question {name}") if labelled else ((), None)
                yield Question(id=name, text=text, answers=answers), passage, place


def _answers(entry: dict[str, Any], passage: str, where: str) -> tuple[tuple[str, ...], tuple[int, int]]:
    answers = _get(entry, "answers", list, where)
    if not answers:
        raise InputError(f"{where} must have an answer, as in SQuAD 1.1. Received: none (SQuAD 2.0 is not supported).")
    texts = []
    for answer in answers:
        text, start = clean_text(_get(answer, "text", str, where)), _get(answer, "answer_start", int, where)
        if start < 0 or not text or passage[start : start + len(text)] != text:
            raise InputError(f"{where} must have its answer at character {start} of the passage. Received: {text!r}.")
        texts.append(text)
    start = answers[0]["answer_start"]
    return tuple(texts), (start, start + len(texts[0]))


def _get(record: Any, key: str, kind: type, where: str) -> Any:
    if not isinstance(record, dict) or not isinstance(record.get(key), kind):
        received = ", ".join(record) if isinstance(record, dict) else type(record).__name__
        raise InputError(f"{where} must have {key!r} ({kind.__name__}), as SQuAD's JSON. Received: {received}.")
    return record[key]
