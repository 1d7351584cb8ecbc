"""SQuAD v1.1 dev as it is, from the tokenized TFRecords: windows, perfect answers and no answers."""

from pathlib import Path

import numpy as np
import pytest

from models_tf.tasks import read_rows
from models_tf.tasks.question_answering import MAX_ANSWER_LEN, QuestionRows
from models_tf.tasks.squad_metric import judge
from models_tf.tokenizers.tokenizer import Tokenizer
from support.real_checkpoints import data_folder
from support.squad_files import write_json

pytestmark = pytest.mark.exhaustive

START, END = "start_logits", "end_logits"
WINDOWS, QUESTIONS = 10_833, 10_570


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_folder(data_folder("vocab"))


@pytest.fixture(scope="module")
def rows(tokenizer: Tokenizer) -> QuestionRows:
    read = read_rows("question-answering", data_folder("squad_v1_dev"), tokenizer=tokenizer, max_len=384)
    assert isinstance(read, QuestionRows)
    return read


def place_of_an_answer(rows: QuestionRows, row: int, tokenizer: Tokenizer) -> tuple[int, int] | None:
    """A span of the window whose text is a true answer, if there is one."""
    window = rows.windows[row]
    passage = rows.inputs["ids"][row, window.offset : window.offset + len(window.max_context)].tolist()
    for pieces in tokenizer.pieces(window.question.answers):
        wanted = pieces.ids
        for first in np.flatnonzero(window.max_context).tolist() if len(wanted) <= MAX_ANSWER_LEN else ():
            if passage[first : first + len(wanted)] == wanted:
                start = window.offset + first
                end = start + len(wanted) - 1
                if judge(window.text(start, end), window.question.answers)[0]:
                    return start, end
    return None


def test_perfect_logits_miss_two_questions_for_known_reasons(rows: QuestionRows, tokenizer: Tokenizer) -> None:
    assert len(rows) == WINDOWS
    outputs = {name: np.zeros((WINDOWS, 384), np.float32) for name in (START, END)}
    answered = set()
    for row, window in enumerate(rows.windows):
        place = None if window.question.id in answered else place_of_an_answer(rows, row, tokenizer)
        if place is not None:
            outputs[START][row, place[0]] = outputs[END][row, place[1]] = 9
            answered.add(window.question.id)
    missed = {window.question.id: window.question for window in rows.windows if window.question.id not in answered}
    # One true answer, "four", is a part of the token "fourth"; the shortest of another's has 34 tokens, above the 30
    # that an answer may have.
    assert sorted(question.answers[0].split()[0] for question in missed.values()) == ["four", "those"]
    score = rows.score(outputs)
    assert score.n == QUESTIONS
    assert score.exact_match == pytest.approx(100 * (QUESTIONS - 2) / QUESTIONS)
    assert 99.98 < score.value < 100


def test_no_answers_score_zero_but_for_three_answers_of_a_full_stop(rows: QuestionRows) -> None:
    score = rows.score({name: np.full((WINDOWS, 384), np.nan, np.float32) for name in (START, END)})
    assert score.value == 0
    # "." is a true answer of three questions and normalizes to nothing, which equals an empty prediction: so does the
    # official script count.
    assert score.exact_match == pytest.approx(100 * 3 / QUESTIONS)


def test_our_windows_of_the_same_text_are_those_of_run_squad(
    rows: QuestionRows, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    questions = {window.question.id: window for window in rows.windows}
    paragraphs = [
        {"context": " ".join(window.words), "qas": [{"id": name, "question": window.question.text}]}  # type: ignore[attr-defined]
        for name, window in questions.items()
    ]
    path = write_json(tmp_path / "squad.json", {"data": [{"paragraphs": paragraphs}]})
    ours = read_rows("question-answering", path, tokenizer=tokenizer, max_len=384, labelled=False)
    assert isinstance(ours, QuestionRows)
    for name, values in rows.inputs.items():
        np.testing.assert_array_equal(ours.inputs[name], values, err_msg=name)
    for mine, theirs in zip(ours.windows, rows.windows, strict=True):
        assert mine.offset == theirs.offset
        np.testing.assert_array_equal(mine.max_context, theirs.max_context)
