"""Rows beyond a limit: a seeded sample over the whole file, in its order; below the limit nothing changes."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from exporters.data.text_rows import TextReader
from models_tf import limits
from models_tf.data.held import hold
from models_tf.errors import InputError
from models_tf.tasks import read_rows
from support.squad_files import document, write_json
from support.tiny_models import tiny_tokenizer

LABELS = ("a", "b")


def table(path: Path, rows: int, label=lambda i: LABELS[i % 2]) -> Path:
    path.write_text("text\tlabel\n" + "".join(f"text {i}\t{label(i)}\n" for i in range(rows)))
    return path


def reader() -> TextReader:
    return TextReader(labels=LABELS, multi_label=False, project=None)


def test_all_rows_are_held_up_to_the_limit():
    with limits.override(rows=10):
        held = hold(range(10), lambda _: 1)
    assert (held.rows, held.places, held.total, held.note(Path("x"))) == (list(range(10)), list(range(10)), 10, ())


def test_a_sample_is_in_order_always_the_same_and_every_row_has_the_same_chance():
    with limits.override(rows=100):
        samples = [hold(range(start, start + 1000), lambda _: 1) for start in (0, 0, 7)]
    assert samples[0].rows == samples[0].places == sorted(set(samples[0].rows)) == samples[1].rows
    assert (len(samples[0].rows), samples[0].total) == (100, 1000)
    assert samples[2].places == samples[0].places
    quarters = Counter(place // 250 for place in samples[0].places)
    assert all(12 <= quarters[i] <= 38 for i in range(4))  # 25 expected, three standard errors are 13


def test_the_bytes_that_are_held_are_limited_too_and_one_row_always_stays():
    with limits.override(held_bytes=1000):
        assert len(hold(range(500), lambda _: 50).rows) == 20
        assert len(hold(range(500), lambda _: 5000).rows) == 1


def test_text_rows_are_sampled_with_a_note_and_their_numbers(tmp_path):
    path = table(tmp_path / "rows.tsv", 400)
    whole = reader().read(path)
    assert (len(whole), whole.notes, whole.numbers) == (400, (), ())
    with limits.override(rows=50):
        sample = reader().read(path)
    assert len(sample) == len(sample.numbers) == 50
    assert sample.keys == [whole.keys[number - 1] for number in sample.numbers]
    np.testing.assert_array_equal(sample.targets, whole.targets[[number - 1 for number in sample.numbers]])
    assert sample.notes == (f"{path}: 50 of 400 rows are used, a sample with seed 0 (the limits rows and held_bytes).",)
    assert sample.take([3, 5]).numbers == (sample.numbers[3], sample.numbers[5])


def test_a_wrong_label_is_found_also_in_a_row_that_is_not_kept(tmp_path):
    path = table(tmp_path / "rows.tsv", 400, lambda i: "c" if i == 390 else LABELS[i % 2])
    with limits.override(rows=1), pytest.raises(InputError, match="line 392: the model has no label 'c'"):
        reader().read(path)
    with limits.override(rows=1), pytest.raises(InputError, match="line 392: the model has no label 'c'"):
        read_rows("classification", path, tokenizer=tiny_tokenizer(), labels=LABELS, max_len=8)


@pytest.mark.parametrize("task", ["classification", "token-classification", "regression"])
def test_rows_of_token_models_are_sampled(task, tmp_path):
    path = tmp_path / ("rows.conll" if task == "token-classification" else "rows.tsv")
    if task == "token-classification":
        path.write_text("".join(f"film\tO\nberlin{i}\tB-X\n\n" for i in range(300)))
    else:
        table(path, 300, (lambda i: i / 7) if task == "regression" else lambda i: LABELS[i % 2])
    labels = {"token-classification": ("O", "B-X"), "regression": ("score",)}.get(task, LABELS)
    own = {"tokenizer": tiny_tokenizer(), "labels": labels, "max_len": 8}
    whole = read_rows(task, path, **own)
    with limits.override(rows=40):
        sample = read_rows(task, path, **own)
    assert (len(whole), whole.numbers) == (300, ())
    picked = whole.take([number - 1 for number in sample.numbers])
    assert len(sample) == 40
    assert sample.keys == picked.keys
    np.testing.assert_array_equal(sample.inputs["ids"], picked.inputs["ids"])
    np.testing.assert_array_equal(sample.targets["logits"], picked.targets["logits"])
    assert "40 of 300 rows are used, a sample with seed 0" in sample.notes[0]


def test_a_sample_of_questions_keeps_the_windows_of_a_question_together(tmp_path):
    questions = [(f"q{i}", f"Where is Anna {i}?", ["Berlin"]) for i in range(30)]
    path = write_json(tmp_path / "squad.json", document(questions=questions))
    own = {"tokenizer": tiny_tokenizer(), "max_len": 16, "doc_stride": 4}
    whole = read_rows("question-answering", path, **own)
    with limits.override(rows=5):
        sample = read_rows("question-answering", path, **own)
    assert len({window.question.id for window in sample.windows}) == 5
    for window in sample.windows:
        name = window.question.id
        assert sum(one.question.id == name for one in sample.windows) == sum(
            one.question.id == name for one in whole.windows
        )
    assert "5 of 30 rows are used" in sample.notes[0]


def test_calibration_takes_the_same_texts_as_ever_below_the_limit(tmp_path):
    path = table(tmp_path / "rows.tsv", 400)
    texts = reader().read_texts(path, lambda count: [0, count - 1])
    assert texts.keys == ["text 0", "text 399"]
    with limits.override(rows=10):
        assert len(reader().read_texts(path, range)) == 10
