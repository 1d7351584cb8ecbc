"""Rows of two texts have the special tokens of the model's own tokenizer: read, made up, and at their shortest."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models_tf.errors import InputError
from models_tf.spec import END_LOGITS, START_LOGITS
from models_tf.tasks import generated_rows, read_rows
from models_tf.tasks.question_answering import QuestionRows
from models_tf.tokenizers.template import Template
from models_tf.tokenizers.tokenizer import Tokenizer
from support.family_tokenizers import FAMILIES, files_of, of_transformers
from support.squad_files import PASSAGE, QUESTIONS, document, write_json

LENGTH = 150
TWO_SEPARATORS = ("roberta", "xlm-roberta", "mpnet")


def tokenizer(model: str) -> Tokenizer:
    return Tokenizer.from_files(files_of(model))


def questions(model: str, folder: Path, *, max_len: int = LENGTH, **settings: int) -> QuestionRows:
    path = write_json(folder / "squad.json", document())
    found = read_rows("question-answering", path, tokenizer=tokenizer(model), max_len=max_len, **settings)
    assert isinstance(found, QuestionRows)
    return found


def real(rows: QuestionRows, name: str, row: int) -> list[int]:
    return list(rows.inputs[name][row, : rows.inputs["mask"][row].sum()])


@pytest.mark.parametrize("model", FAMILIES)
def test_questions_are_the_rows_of_transformers(model: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    theirs, rows = of_transformers(model, tmp_path), questions(model, tmp_path)
    assert len(rows) == len(QUESTIONS)
    for row, (_, question, _) in enumerate(QUESTIONS):
        expected = theirs(question, PASSAGE, return_token_type_ids=True)
        assert real(rows, "ids", row) == expected["input_ids"]
        assert real(rows, "segments", row) == expected["token_type_ids"]
        assert rows.windows[row].offset == expected.sequence_ids().index(1)


@pytest.mark.parametrize("model", FAMILIES)
@pytest.mark.parametrize("windows", ["one", "several"])
def test_perfect_logits_give_the_answers(model: str, windows: str, tmp_path: Path) -> None:
    rows = questions(model, tmp_path)
    if windows == "several":
        rows = questions(model, tmp_path, max_len=int(rows.inputs["mask"].sum(axis=1).min()) - 8, doc_stride=3)
        assert len(rows) > 2 * len(QUESTIONS)
    assert rows.targets is not None
    shown = np.flatnonzero(rows.targets[START_LOGITS])
    outputs = {}
    for name in (START_LOGITS, END_LOGITS):
        outputs[name] = np.zeros((len(rows), rows.max_len), np.float32)
        outputs[name][shown, rows.targets[name][shown]] = 9
    score = rows.score(outputs)
    assert (score.value, score.exact_match, score.n) == (100, 100, len(QUESTIONS))


@pytest.mark.parametrize("model", FAMILIES)
def test_every_window_of_a_passage_is_a_pair_that_fills_its_row(model: str, tmp_path: Path) -> None:
    rows, own = questions(model, tmp_path, max_len=40, doc_stride=7), tokenizer(model)
    assert len(rows) > len(QUESTIONS)
    for row, window in enumerate(rows.windows):
        (query,) = own.pieces([window.question.text])
        ids, segments = real(rows, "ids", row), real(rows, "segments", row)
        part = ids[window.offset : window.offset + len(window.max_context)]
        assert (ids, segments) == own.pair.row(query.ids, part)
        assert window.offset == own.pair.start(len(query.ids))
    assert rows.inputs["mask"].sum(axis=1).max() == 40


@pytest.mark.parametrize("model", FAMILIES)
@pytest.mark.parametrize("pairs", [False, True])
def test_rows_that_are_made_up_have_the_same_special_tokens(model: str, pairs: bool) -> None:
    own = tokenizer(model)
    template = own.pair if pairs else own.single
    rows = generated_rows("classification", own, max_len=12, count=30, seed=1, pairs=pairs)
    lengths = rows.inputs["mask"].sum(axis=1)
    assert (lengths.max(), lengths.min()) == (12, template.special_count + 1 + pairs)
    for row, length in enumerate(lengths):
        ids, segments = (rows.inputs[name][row, :length].tolist() for name in ("ids", "segments"))
        texts = length - template.special_count
        splits = [(first, texts - first) for first in range(1, texts)] if pairs else [(texts,)]
        assert any(made_of(ids, segments, template, split) for split in splits), ids


def made_of(ids: list[int], segments: list[int], template: Template, lengths: tuple[int, ...]) -> bool:
    starts = [template.start(*lengths[:which]) for which in range(len(lengths))]
    texts = [ids[start : start + length] for start, length in zip(starts, lengths, strict=True)]
    return template.row(*texts) == (ids, segments)


@pytest.mark.parametrize("model", FAMILIES)
def test_the_shortest_row_has_room_for_all_special_tokens(model: str, tmp_path: Path) -> None:
    own, specials = tokenizer(model), 4 if model in TWO_SEPARATORS else 3
    assert own.encode(["a"], ["a"], max_len=specials + 1)["mask"].sum() == specials + 1
    wanted = f"must be at least {specials + 1}: {specials} special tokens"
    with pytest.raises(InputError, match=f"The sequence length {wanted} and one of the text. Received: {specials}"):
        own.encode(["a"], ["a"], max_len=specials)
    with pytest.raises(InputError, match=r"must be at least 3: 2 special tokens and one of the text. Received: 2"):
        own.encode(["a"], max_len=2)
    with pytest.raises(InputError, match=f"--max-seq-len must be at least {specials + 2}: {specials} special tokens"):
        generated_rows("question-answering", own, max_len=specials + 1, count=4)
    (asked,) = own.pieces([QUESTIONS[0][1]])
    with pytest.raises(InputError, match=f"room for a passage after a question of {len(asked.ids)} tokens"):
        questions(model, tmp_path, max_len=len(asked.ids) + specials)
    assert len(questions(model, tmp_path, max_len=len(asked.ids) + specials + 20)) >= len(QUESTIONS)


@pytest.mark.parametrize("change", ["the first text twice", "the second text first", "no second text"])
def test_another_template_is_refused(change: str) -> None:
    stored = json.loads(tokenizer("bert").files()["tokenizer.json"])
    pair: list[Any] = stored["post_processor"]["pair"]
    if change == "the first text twice":
        pair.insert(1, pair[1])
    elif change == "the second text first":
        pair[1], pair[3] = pair[3], pair[1]
    else:
        del pair[3]
    with pytest.raises(InputError, match=r"tokenizer\.json must have a template that holds each of two texts once"):
        Tokenizer.from_files({"tokenizer.json": json.dumps(stored).encode()})
