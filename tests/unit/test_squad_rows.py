"""SQuAD: windows, the best answer of all windows, targets, scores; JSON and TFRecords; bad files."""

import copy
import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models_tf.errors import InputError
from models_tf.tasks import read_rows
from models_tf.tasks.question_answering import MAX_ANSWER_LEN, N_BEST, QuestionRows
from models_tf.tasks.squad_windows import cut, most_context
from support.squad_files import PASSAGE, QUESTIONS, document, write_json, write_records
from support.tiny_models import tiny_tokenizer

START, END = "start_logits", "end_logits"


def read(path: Path, max_len: int = 64, **settings: object) -> QuestionRows:
    rows = read_rows(
        "question-answering",
        path,
        tokenizer=tiny_tokenizer(),
        max_len=max_len,
        **settings,  # type: ignore[arg-type]
    )
    assert isinstance(rows, QuestionRows)
    return rows


@pytest.fixture
def whole(tmp_path: Path) -> QuestionRows:
    """One window a question."""
    return read(write_json(tmp_path / "squad.json", document()))


@pytest.fixture
def cut_up(tmp_path: Path) -> QuestionRows:
    """Several overlapping windows a question."""
    return read(write_json(tmp_path / "squad.json", document()), max_len=24, doc_stride=5)


def perfect(rows: QuestionRows) -> dict[str, np.ndarray]:
    """Logits that point at the targets, where a window shows the answer."""
    assert rows.targets is not None
    outputs = {}
    for name in (START, END):
        outputs[name] = np.zeros((len(rows), rows.max_len), np.float32)
        shown = rows.targets[START] > 0
        outputs[name][np.flatnonzero(shown), rows.targets[name][shown]] = 9
    return outputs


def test_a_row_is_the_question_and_then_the_passage(whole: QuestionRows) -> None:
    tokenizer = tiny_tokenizer()
    tokens = [tokenizer.token(number) for number in whole.inputs["ids"][0]]
    assert tokens[:7] == ["[CLS]", "where", "is", "anna", "?", "[SEP]", "anna"]
    used = int(whole.inputs["mask"][0].sum())
    assert tokens[used - 1] == "[SEP]"
    assert whole.inputs["segments"][0].tolist() == [0] * 6 + [1] * (used - 6) + [0] * (64 - used)
    assert whole.pairs
    assert whole.keys == [text for _, text, _ in QUESTIONS]


def test_perfect_logits_reach_one_hundred(whole: QuestionRows, cut_up: QuestionRows) -> None:
    assert len(cut_up) > len(whole) == 3
    for rows in (whole, cut_up):
        score = rows.score(perfect(rows))
        assert (score.metric, score.value, score.exact_match, score.n, score.standard_error) == ("f1", 100, 100, 3, 0)


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_no_answer_at_all_is_an_empty_text_and_scores_zero(whole: QuestionRows, value: float) -> None:
    outputs = {name: np.full((3, 64), value, np.float32) for name in (START, END)}
    assert set(whole.predictions(outputs).values()) == {""}
    score = whole.score(outputs)
    assert (score.value, score.exact_match) == (0, 0)


def test_targets_are_the_places_of_the_first_answer(whole: QuestionRows, cut_up: QuestionRows) -> None:
    for rows in (whole, cut_up):
        assert rows.targets is not None
        starts, ends = rows.targets[START], rows.targets[END]
        assert starts.dtype == ends.dtype == np.int32
        for i, window in enumerate(rows.windows):
            if starts[i]:
                assert window.text(starts[i], ends[i]) == window.question.answers[0]
            else:
                assert ends[i] == 0  # the answer is not in this window: [CLS]
        assert {rows.windows[i].question.id for i in np.flatnonzero(starts)} == {"q1", "q2", "q3"}


def test_windows_of_a_question_share_a_key_and_score_together(cut_up: QuestionRows) -> None:
    rows = [i for i, window in enumerate(cut_up.windows) if window.question.id == "q2"]
    assert len(rows) > 1
    assert len({cut_up.keys[i] for i in rows}) == 1
    taken = cut_up.take(rows)
    assert taken.score({name: values[rows] for name, values in perfect(cut_up).items()}).n == 1


def test_the_text_is_cut_from_the_passage_as_it_stands(whole: QuestionRows) -> None:
    window = whole.windows[0]
    tokens = [tiny_tokenizer().token(number) for number in whole.inputs["ids"][0]]
    start = tokens.index("smith", 20)
    assert window.text(start, start + 3) == "Smith's film"
    assert PASSAGE[slice(*window.spans[0])] == "Anna"  # type: ignore[attr-defined]


def test_windows_move_by_the_stride_and_the_last_one_ends_with_the_passage() -> None:
    assert cut(10, 4, 2) == [(0, 4), (2, 4), (4, 4), (6, 4)]
    assert cut(10, 4, 9) == [(0, 4), (4, 4), (8, 2)]  # a stride above the window leaves nothing out
    assert cut(3, 4, 2) == [(0, 3)]


def test_each_token_has_one_window_of_most_context() -> None:
    windows = cut(10, 6, 2)  # (0, 6), (2, 6), (4, 6)
    best = most_context(windows, 10)
    assert [mask.tolist() for mask in best] == [
        [True, True, True, True, False, False],  # token 3: 2 right of it here, 1 left of it in the next
        [False, False, True, True, False, False],
        [False, False, True, True, True, True],
    ]
    counts = np.zeros(10, int)
    for (start, length), mask in zip(windows, best, strict=True):
        counts[start : start + length] += mask
    assert (counts == 1).all()


def test_a_long_question_is_cut(tmp_path: Path) -> None:
    questions = [("q1", "is " * 100, ["Berlin"])]
    rows = read(write_json(tmp_path / "f.json", document(questions=questions)), max_query_len=10)
    assert rows.windows[0].offset == 12


def oracle(rows: QuestionRows, outputs: dict[str, np.ndarray]) -> dict[str, str]:
    """run_squad.py's choice, written with plain loops."""
    best: dict[str, tuple[float, str]] = {}
    for i, window in enumerate(rows.windows):
        start, end = ([float(x) for x in outputs[name][i]] for name in (START, END))
        starts, ends = (sorted(range(len(x)), key=lambda j: x[j], reverse=True)[:N_BEST] for x in (start, end))
        passage = range(window.offset, window.offset + len(window.max_context))
        for s in starts:
            for e in ends:
                if s not in passage or e not in passage or not window.max_context[s - window.offset]:
                    continue
                if e < s or e - s + 1 > MAX_ANSWER_LEN:
                    continue
                found = best.get(window.question.id)
                if found is None or start[s] + end[e] > found[0]:
                    best[window.question.id] = (start[s] + end[e], window.text(s, e))
    return {window.question.id: best.get(window.question.id, (0.0, ""))[1] for window in rows.windows}


@pytest.mark.parametrize("seed", range(20))
def test_the_choice_is_that_of_plain_loops(cut_up: QuestionRows, whole: QuestionRows, seed: int) -> None:
    generator = np.random.default_rng(seed)
    for rows in (cut_up, whole):
        shape = (len(rows), rows.max_len)
        # rounded: ties must fall the same way
        outputs = {name: (3 * generator.normal(size=shape)).round(seed % 3).astype(np.float32) for name in (START, END)}
        assert rows.predictions(outputs) == oracle(rows, outputs)


def test_an_answer_is_neither_backwards_nor_too_long(whole: QuestionRows) -> None:
    outputs = {name: np.full((3, 64), -5, np.float32) for name in (START, END)}
    outputs[START][0, [40, 7]] = 9, 8
    outputs[END][0, [8, 38]] = 9, 8  # 40..8 is backwards, 7..38 is too long
    assert whole.n_best(outputs)["q1"][0].text == whole.windows[0].text(7, 8)
    assert whole.n_best(outputs)["q1"][0].logit == 17


def test_a_start_without_the_most_context_does_not_count(cut_up: QuestionRows) -> None:
    outputs = {name: np.zeros((len(cut_up), 24), np.float32) for name in (START, END)}
    row, at = next(
        (i, int(np.flatnonzero(~w.max_context)[0])) for i, w in enumerate(cut_up.windows) if not w.max_context.all()
    )
    position = cut_up.windows[row].offset + at
    outputs[START][row, position] = outputs[END][row, position] = 50
    name = cut_up.windows[row].question.id
    assert cut_up.n_best(outputs)[name][0].logit < 100


def test_the_n_best_texts_are_different_and_sorted(whole: QuestionRows) -> None:
    generator = np.random.default_rng(0)
    outputs = {name: generator.normal(size=(3, 64)) for name in (START, END)}
    answers = whole.n_best(outputs)["q3"]
    assert 1 < len(answers) <= N_BEST
    assert len({answer.text for answer in answers}) == len(answers)
    assert [answer.logit for answer in answers] == sorted((a.logit for a in answers), reverse=True)


def test_answers_for_parity_leave_padding_out(whole: QuestionRows) -> None:
    generator = np.random.default_rng(0)
    outputs = {name: generator.normal(size=(3, 64)) for name in (START, END)}
    padded = {name: np.where(whole.inputs["mask"], values, 99.0) for name, values in outputs.items()}
    np.testing.assert_array_equal(whole.answers(outputs), whole.answers(padded))
    assert whole.answers(outputs).shape == (6, 64)
    assert (whole.answers(padded).argmax(axis=1) < np.tile(whole.inputs["mask"].sum(axis=1), 2)).all()


def test_questions_alone_need_no_answers(tmp_path: Path) -> None:
    content = document()
    for entry in content["data"][0]["paragraphs"][0]["qas"]:
        del entry["answers"]
    rows = read(write_json(tmp_path / "f.json", content), labelled=False)
    assert rows.targets is None
    assert not rows.labelled
    with pytest.raises(ValueError, match="questions with answers"):
        rows.score({name: np.zeros((3, 64)) for name in (START, END)})


def test_gzipped_json_is_read(tmp_path: Path) -> None:
    path = tmp_path / "f.json.gz"
    path.write_bytes(gzip.compress(json.dumps(document()).encode()))
    assert len(read(path)) == 3


def _edit(change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Any:
    content = document()
    paragraph = content["data"][0]["paragraphs"][0]
    change(paragraph, paragraph["qas"][0])
    return content


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([], "must have 'data' (list), as SQuAD's JSON. Received: list"),
        ({"data": []}, "must have questions. Received: none"),
        ({"data": [{"title": "x"}]}, "data[0] must have 'paragraphs' (list)"),
        (_edit(lambda p, q: p.pop("context")), "data[0].paragraphs[0] must have 'context' (str)"),
        (_edit(lambda p, q: q.pop("id")), "data[0].paragraphs[0] must have 'id' (str)"),
        (_edit(lambda p, q: q.update(question=" ")), "question q1 must have words and a passage"),
        (_edit(lambda p, q: q.update(answers=[])), "question q1 must have an answer, as in SQuAD 1.1"),
        (_edit(lambda p, q: q["answers"][0].update(answer_start=3)), "question q1 must have its answer at character 3"),
        (_edit(lambda p, q: q["answers"][0].update(text=4)), "question q1 must have 'text' (str)"),
        (_edit(lambda p, q: p["qas"].append(copy.deepcopy(q))), "each question once. Received: id 'q1' twice"),
    ],
)
def test_bad_json_is_one_clear_line(tmp_path: Path, content: object, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read(write_json(tmp_path / "squad.json", content))
    assert expected in str(caught.value)
    assert "squad.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("data", "expected"), [(b"", "must be SQuAD's JSON"), (b"{", "must be SQuAD's JSON")])
def test_an_empty_or_broken_file_is_refused(tmp_path: Path, data: bytes, expected: str) -> None:
    (tmp_path / "f.json").write_bytes(data)
    with pytest.raises(InputError, match=expected):
        read(tmp_path / "f.json")
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "absent.json")


def test_a_length_without_room_for_the_passage_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="room for a passage after a question of 4 tokens"):
        read(write_json(tmp_path / "f.json", document()), max_len=7)


def as_records(rows: QuestionRows) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What run_squad.py would write for the same windows."""
    tokenizer = tiny_tokenizer()
    words = PASSAGE.split()
    ends = np.cumsum([len(word) + 1 for word in words])
    windows, truths = [], {}
    for i, window in enumerate(rows.windows):
        used = int(rows.inputs["mask"][i].sum())
        spans = window.spans  # type: ignore[attr-defined]
        windows.append(
            {
                "input_ids": rows.inputs["ids"][i].tolist(),
                "input_mask": rows.inputs["mask"][i].tolist(),
                "segment_ids": rows.inputs["segments"][i].tolist(),
                "tokens": [tokenizer.token(number).encode() for number in rows.inputs["ids"][i, :used]],
                "token_to_orig_map": [int(np.searchsorted(ends, start, side="right")) for start, _ in spans],
                "token_is_max_context": window.max_context.astype(int).tolist(),
                "qas_id": [window.question.id.encode()],
            }
        )
        truths[window.question.id] = {
            "qas_id": [window.question.id.encode()],
            "words": [word.encode() for word in words],
            "answers": [answer.encode() for answer in window.question.answers],
        }
    return windows, list(truths.values())


@pytest.mark.parametrize("name", ["", "squad_eval.tfrecord"])
def test_tfrecords_give_the_rows_and_answers_of_the_json(tmp_path: Path, cut_up: QuestionRows, name: str) -> None:
    rows = read(write_records(tmp_path, *as_records(cut_up)) / name, max_len=24)
    for key, values in cut_up.inputs.items():
        np.testing.assert_array_equal(rows.inputs[key], values)
    assert rows.labelled
    assert rows.targets is None  # nothing says where an answer begins
    outputs = perfect(cut_up)
    assert rows.predictions(outputs) == cut_up.predictions(outputs)
    assert rows.score(outputs) == cut_up.score(outputs)
    generator = np.random.default_rng(0)
    for _ in range(10):
        outputs = {key: generator.normal(size=(len(rows), 24)) for key in (START, END)}
        assert rows.predictions(outputs) == cut_up.predictions(outputs)


def test_tfrecords_can_be_padded_further_but_not_cut(tmp_path: Path, cut_up: QuestionRows) -> None:
    folder = write_records(tmp_path, *as_records(cut_up))
    assert read(folder, max_len=30).inputs["ids"].shape == (len(cut_up), 30)
    with pytest.raises(InputError, match="record 1 is 24 tokens long"):
        read(folder, max_len=23)


def test_tfrecords_of_another_vocabulary_are_refused(tmp_path: Path, cut_up: QuestionRows) -> None:
    windows, truths = as_records(cut_up)
    windows[0]["input_ids"][1] += 1
    with pytest.raises(InputError, match="tokenized with the model's vocabulary"):
        read(write_records(tmp_path, windows, truths), max_len=24)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda windows, truths: windows.clear(), "an empty file|must have records"),
        (lambda windows, truths: truths.pop(), "must have every question of squad_eval.tfrecord. Received: no 'q3'"),
        (lambda windows, truths: windows[1].pop("input_mask"), "record 2 must have 'input_mask'"),
        (lambda windows, truths: truths[0].pop("answers"), "record 1 must have 'answers'"),
        (lambda windows, truths: truths[0].update(words=[b"x"]), "record 1 must map its passage to 1 words"),
        (lambda windows, truths: windows[1]["input_ids"].__setitem__(2, 9999), "record 2 must have ids below"),
    ],
)
def test_bad_tfrecords_are_one_clear_line(
    tmp_path: Path, cut_up: QuestionRows, change: Callable[[Any, Any], None], expected: str
) -> None:
    windows, truths = as_records(cut_up)
    change(windows, truths)
    with pytest.raises(InputError, match=expected) as caught:
        read(write_records(tmp_path, windows, truths), max_len=24)
    assert "\n" not in str(caught.value)


def test_tfrecords_need_their_ground_truth_beside_them(tmp_path: Path, cut_up: QuestionRows) -> None:
    write_records(tmp_path, *as_records(cut_up))
    (tmp_path / "squad_groundtruth.tfrecord").rename(tmp_path / "truth.tfrecord")
    with pytest.raises(InputError, match=r"no squad_groundtruth\.tfrecord"):
        read(tmp_path)
    with pytest.raises(InputError, match=r"must be in a file \*eval\*\.tfrecord"):
        read(tmp_path / "truth.tfrecord")
    (tmp_path / "squad_eval.tfrecord").unlink()
    with pytest.raises(InputError, match=r"must have one file \*eval\*\.tfrecord. Received: 0"):
        read(tmp_path)
