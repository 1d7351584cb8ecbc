"""Several labels per text: F1 against cases computed by hand, thresholds, and rows of token models."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from models_tf.errors import InputError
from models_tf.tasks import several_labels
from models_tf.tasks.multi_label import MultiLabelRows, Several
from models_tf.tasks.several_labels import judge, score
from support.tiny_models import tiny_tokenizer

NAMES = ["fun", "sad", "long"]
# Chosen at one half: fun and long; sad; none; none (wanted: none).
LOGITS = np.array([[1, -1, 1], [-1, 1, -1], [-2, -0.5, -3], [-1, -1, -1]], np.float32)
TARGETS = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0]], bool)


def test_micro_and_macro_f1_are_those_computed_by_hand() -> None:
    found = score(LOGITS, TARGETS, threshold=0.5)
    # Right 2, chosen 3, wanted 4.
    assert (found.metric, found.n) == ("micro_f1", 4)
    assert found.value == pytest.approx(100 * 2 * 2 / (3 + 4))
    # fun: 1 right, 1 chosen, 2 wanted; sad: the same; long: 0 right, 1 chosen, 0 wanted.
    assert found.more == {"macro_f1": pytest.approx(100 * (2 / 3 + 2 / 3 + 0) / 3)}
    assert found.exact_match == 50.0
    assert found.label_threshold == 0.5


def test_a_label_that_neither_occurs_nor_is_chosen_is_not_in_the_mean() -> None:
    logits = np.array([[1.0, -1.0, -9.0], [-1.0, 1.0, -9.0]])
    targets = np.array([[1, 0, 0], [1, 0, 0]], bool)
    # first: 1 right, 1 chosen, 2 wanted; second: 1 chosen, 0 wanted; third: nothing.
    assert score(logits, targets, threshold=0.5).more["macro_f1"] == pytest.approx(100 * (2 / 3) / 2)
    nothing = np.full((2, 3), -1.0)
    assert score(nothing, np.zeros((2, 3), bool), threshold=0.5).more["macro_f1"] == 0.0


def test_both_f1_are_those_of_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(7)
    logits, targets = generator.normal(size=(200, 5)), generator.random((200, 5)) < 0.3
    for threshold in (0.2, 0.5, 0.8):
        found, chosen = score(logits, targets, threshold=threshold), 1 / (1 + np.exp(-logits)) >= threshold
        assert found.value == pytest.approx(100 * sklearn.f1_score(targets, chosen, average="micro"))
        assert found.more["macro_f1"] == pytest.approx(100 * sklearn.f1_score(targets, chosen, average="macro"))


@pytest.mark.parametrize(("threshold", "chosen"), [(0.5, [0, 0, 1]), (0.3, [0, 1, 1]), (0.9, [0, 0, 0])])
def test_a_label_counts_from_the_threshold_on(threshold: float, chosen: list[int]) -> None:
    logits = np.array([[math.nan, math.log(0.3 / 0.7) + 1e-9, 0.0]])
    assert several_labels.chosen(logits, threshold).astype(int).tolist() == [chosen]


def test_a_row_that_is_not_a_number_is_never_right_though_nothing_was_wanted() -> None:
    logits, targets = np.array([[math.nan, -1.0], [1.0, -1.0]]), np.array([[0, 0], [1, 0]], bool)
    assert score(logits, targets, threshold=0.5).exact_match == 50.0
    found = judge(logits, targets, ["a", "b"], ["x", "y"], threshold=0.5)
    assert found.expected == ("-", "a")
    assert found.answers == ("not a number", "a")


def test_what_each_row_counts_gives_the_score_again() -> None:
    found = judge(LOGITS, TARGETS, NAMES, list("abcd"), threshold=0.5)
    assert found.answers == ("fun, long", "sad", "-", "-")
    assert found.expected == ("fun", "sad", "fun, sad", "-")
    assert found.counts.tolist() == [[1, 2, 1], [1, 1, 1], [0, 0, 2], [0, 0, 0]]
    assert found.value() == score(LOGITS, TARGETS, threshold=0.5).value


@pytest.mark.parametrize("shape", [(4, 2), (3, 3), (4, 3, 1)])
def test_answers_of_another_shape_are_one_line(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="must answer 3 numbers for each of 4 rows"):
        score(np.zeros(shape), TARGETS, threshold=0.5)
    with pytest.raises(InputError, match="1 or more"):
        judge(np.zeros((0, 3)), np.zeros((0, 3), bool), NAMES, [], threshold=0.5)


def test_the_standard_error_depends_on_the_seed_only() -> None:
    generator = np.random.default_rng(5)
    logits, targets = generator.normal(size=(40, 3)), generator.random((40, 3)) > 0.5
    assert score(logits, targets, threshold=0.5, seed=1) == score(logits, targets, threshold=0.5, seed=1)
    assert 0 < score(logits, targets, threshold=0.5, seed=1).standard_error < 20


def read(path: Path, *, labels: list[str] = NAMES, labelled: bool = True, **several: object) -> MultiLabelRows:
    from models_tf.tasks import read_rows

    rows = read_rows(
        "classification", path, tokenizer=tiny_tokenizer(), labels=labels, max_len=12, labelled=labelled,
        several=Several(**several),
    )  # fmt: skip
    assert isinstance(rows, MultiLabelRows)
    return rows


def write(folder: Path, text: str, name: str = "f.tsv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_have_several_labels_or_none(tmp_path: Path) -> None:
    path = write(tmp_path, "text\tlabel\ngood film\tlong | fun\nbad\tsad\na film\t\nplay\tfun|fun\n")
    rows = read(path)
    assert rows.targets is not None
    assert rows.targets["logits"].tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 0]]
    taken = rows.take([2, 0])
    assert isinstance(taken, MultiLabelRows)
    assert taken.targets is not None
    assert taken.targets["logits"].tolist() == [[0, 0, 0], [1, 0, 1]]
    assert taken.judge({"logits": LOGITS[:2]}).expected == ("-", "fun, long")


def test_the_separator_is_chosen_and_json_lists_need_none(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "text\tlabel\ngood\tfun;a|b\nbad\tfun\n"), labels=["fun", "a|b"], separator=";")
    assert rows.targets is not None
    assert rows.targets["logits"].tolist() == [[1, 1], [1, 0]]
    lines = [{"text": "good", "label": ["fun", "sad"]}, {"text": "bad", "label": []}]
    rows = read(write(tmp_path, "".join(json.dumps(line) + "\n" for line in lines), "f.jsonl"))
    assert rows.targets is not None
    assert rows.targets["logits"].tolist() == [[1, 1, 0], [0, 0, 0]]


def test_pairs_and_numbers_of_labels_are_read_as_with_one_label(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "premise\thypothesis\tlabel\ngood\tbad\t0|2\nbad\tfilm\t1\n"))
    assert rows.pairs
    assert rows.targets is not None
    assert rows.targets["logits"].tolist() == [[1, 0, 1], [0, 1, 0]]
    assert "0 fun, 1 sad, 2 long" in rows.notes[0]


def test_without_labels_only_texts_are_read(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "text\ngood\nbad\n"), labelled=False)
    assert rows.targets is None
    assert not rows.labelled


def test_the_threshold_is_that_of_the_rows(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "text\tlabel\ngood\tfun\nbad\tsad\n"), threshold=0.9)
    outputs = {"logits": np.array([[1.0, -1, -1], [-1, 3, -1]])}
    assert rows.score(outputs).label_threshold == 0.9
    assert rows.score(outputs).value == pytest.approx(100 * 2 * 1 / (1 + 2))
    assert rows.judge(outputs).answers == ("-", "sad")
    assert rows.decisions(outputs) is None


@pytest.mark.parametrize(
    ("content", "labels", "expected"),
    [
        ("text\tlabel\ngood\tfun|dull\nbad\tsad\n", NAMES, "line 2: the model has no label 'dull'. It has fun"),
        ("text\tlabel\ngood\t0|7\nbad\t1\n", NAMES, "line 2: the model has no label '7'"),
        ("text\tlabel\ngood\t0|" + "9" * 5000 + "\nbad\t1\n", NAMES, "line 2: the model has no label '999"),
        ("text\tlabel\ngood\tfun\nbad\tfun\n", NAMES, "at least 2 different labels to measure F1. Received: 'fun'"),
        ("text\tlabel\ngood\t\nbad\t\n", NAMES, "at least 2 different labels to measure F1. Received: none"),
        ("text\tlabel\ngood\t\nbad\t\n", ["fun"], "a row with the label to measure F1. Received: none"),
        ("text\tlabel\ngood\tfun|s\x00d\nbad\tsad\n", NAMES, "line 2 must have labels without control characters"),
        ("text\tlabel\n\tfun\nbad\tsad\n", NAMES, "line 2 must have text"),
        ("text\nbad\n", NAMES, "label"),
    ],
)  # fmt: skip
def test_bad_rows_are_one_line(tmp_path: Path, content: str, labels: list[str], expected: str) -> None:
    with pytest.raises(InputError, match=re.escape(expected)) as raised:
        read(write(tmp_path, content), labels=labels)
    assert "\n" not in str(raised.value)
