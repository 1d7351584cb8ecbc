"""Classification, regression and made-up rows: reading, matching of labels, scores, bad files."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from models_tf.data import read_table
from models_tf.errors import InputError
from models_tf.tasks import TASKS, generated_rows, read_rows
from models_tf.tasks.rows import Columns, TaskRows
from models_tf.tokenizers.tokenizer import Tokenizer
from support.real_checkpoints import data_folder
from support.tiny_models import tiny_tokenizer

NAMES = ["negative", "positive"]


def read(path: Path, task: str = "classification", **settings: object) -> TaskRows:
    defaults = {"tokenizer": tiny_tokenizer(), "labels": NAMES, "max_len": 12}
    return read_rows(task, path, **(defaults | settings))  # type: ignore[arg-type]


def write(folder: Path, text: str, name: str = "f.tsv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_single_sentences_have_one_segment_and_their_text_as_key(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "sentence\tlabel\ngood film\tpositive\nbad film\tnegative\n"))
    assert rows.targets is not None
    assert rows.targets["logits"].tolist() == [1, 0]
    assert rows.targets["logits"].dtype == np.int32
    assert rows.keys == ["good film", "bad film"]
    assert not rows.pairs
    assert not rows.inputs["segments"].any()
    assert {values.shape for values in rows.inputs.values()} == {(2, 12)}
    assert rows.notes == ()


@pytest.mark.parametrize(
    "columns",
    [("text_a", "text_b"), ("sentence1", "sentence2"), ("premise", "hypothesis"), ("question", "sentence")],
)
def test_pairs_are_found_by_their_columns(tmp_path: Path, columns: tuple[str, str]) -> None:
    header = "\t".join(("index", *columns, "label"))
    rows = read(write(tmp_path, f"{header}\n0\tgood\tbad film\tpositive\n1\ta\tb\tnegative\n"))
    assert rows.pairs
    assert rows.keys == ["good\tbad film", "a\tb"]
    assert rows.inputs["segments"][0].tolist() == [0, 0, 0, 1, 1, 1] + [0] * 6


def test_columns_of_a_pair_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path, "x\ty\tz\ngood\tbad\tpositive\nbad\tgood\tnegative\n")
    rows = read(path, columns=Columns(text="x", pair="y", label="z"))
    assert rows.keys == ["good\tbad", "bad\tgood"]
    with pytest.raises(InputError, match="--text-column and --text-pair-column differ"):
        read(path, columns=Columns(text="x", pair="x", label="z"))
    with pytest.raises(InputError, match="'q' in its header"):
        read(path, columns=Columns(text="x", pair="q", label="z"))


def test_a_named_text_column_reads_single_sentences_of_a_file_of_pairs(tmp_path: Path) -> None:
    path = write(tmp_path, "sentence1\tsentence2\tlabel\ngood\tx\tpositive\nbad\ty\tnegative\n")
    assert read(path, columns=Columns(text="sentence1")).keys == ["good", "bad"]


def test_pairs_come_from_json_lines_too(tmp_path: Path) -> None:
    lines = [{"premise": "good", "hypothesis": "bad", "label": 1}, {"premise": "a", "hypothesis": "b", "label": 0}]
    path = write(tmp_path, "".join(json.dumps(line) + "\n" for line in lines), "f.jsonl")
    rows = read(path)
    assert rows.keys == ["good\tbad", "a\tb"]
    assert rows.targets is not None
    assert rows.targets["logits"].tolist() == [1, 0]


def test_a_file_without_a_header_is_read_by_numbers_of_columns(tmp_path: Path) -> None:
    path = write(tmp_path, "gj04\t1\t\tgood film\ngj04\t0\t*\tbad\n")
    rows = read(path, columns=Columns(text="4", label="2"))
    assert rows.keys == ["good film", "bad"]
    assert [row.line for row in read_table(path, "4", "2")] == [1, 2]
    with pytest.raises(InputError, match="must have column '9' in its header"):
        read(path, columns=Columns(text="9", label="2"))


def test_a_column_named_like_a_number_stays_a_name(tmp_path: Path) -> None:
    assert read(write(tmp_path, "2\t1\ngood\t0\nbad\t1\n"), columns=Columns(text="2", label="1")).keys == [
        "good",
        "bad",
    ]


def test_numbers_are_matched_with_names_and_the_report_says_so(tmp_path: Path) -> None:
    path = write(tmp_path, "text\tlabel\ngood\t1\nbad\t0\n")
    for labels in (NAMES, ["LABEL_0", "LABEL_1"]):
        rows = read(path, labels=labels)
        assert rows.targets is not None
        assert rows.targets["logits"].tolist() == [1, 0]
        assert f"0 {labels[0]}, 1 {labels[1]}" in rows.notes[0]
    assert read(path, labels=["1", "0"]).targets["logits"].tolist() == [0, 1]  # type: ignore[index]


@pytest.mark.parametrize(
    ("content", "labels", "expected"),
    [
        ("text\tlabel\ngood\t1\nbad\t2\n", NAMES, "line 3: the model has no label '2'. It has negative, positive."),
        ("text\tlabel\ngood\t1\nbad\t" + "9" * 5000 + "\n", NAMES, "line 3: the model has no label '999"),
        ("text\tlabel\ngood\tpositive\nbad\t0\n", NAMES, "line 3: the model has no label '0'"),
        ("text\tlabel\ngood\t1\nbad\t0\n", ["1", "2"], "line 3: the model has no label '0'"),
        ("text\tlabel\ngood\tentailment\nbad\tother\n", NAMES, "line 2: the model has no label 'entailment'"),
        ("text\tlabel\ngood\t\nbad\tnegative\n", NAMES, "line 2 must have a label"),
        ("text\tlabel\n  \tpositive\n", NAMES, "line 2 must have text. Received: an empty field"),
        ("text_a\ttext_b\tlabel\ngood\t\tpositive\n", NAMES, "line 2 must have text"),
        ("text\tlabel\n", NAMES, "must have rows under its header. Received: none"),
        ("", NAMES, "an empty file"),
        ("text\tlabel\ngood\tpositive\n", NAMES, "at least 2 different labels"),
        ("body\tlabel\ngood\tpositive\n", NAMES, "Received: body, label. Choose one with --text-column"),
    ],
)
def test_bad_classification_files_are_one_clear_line(
    tmp_path: Path, content: str, labels: list[str], expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(write(tmp_path, content), labels=labels)
    assert expected in str(caught.value)
    assert "f.tsv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_texts_alone_need_no_labels_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "text\ngood\n\n \nbad\n"), labelled=False)
    assert rows.keys == ["good", "bad"]
    assert rows.targets is None
    assert not rows.labelled
    with pytest.raises(ValueError, match="labelled rows"):
        rows.score({"logits": np.zeros((2, 2))})
    with pytest.raises(InputError, match="only empty ones"):
        read(write(tmp_path, "text\n \n"), labelled=False)


def test_rows_that_fill_the_length_get_a_note(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "text\tlabel\ngood film\tpositive\nbad\tnegative\n"), max_len=4)
    assert "1 of 2 rows fill the sequence length of 4" in rows.notes[0]


def test_accuracy_f1_and_matthews_of_two_labels(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "text\tlabel\n" + "a\t1\nb\t1\nc\t0\nd\t0\n"))
    logits = np.array([[0, 1], [1, 0], [0, 1], [1, 0]], np.float32)
    score = rows.score({"logits": logits})
    assert (score.metric, score.value, score.n) == ("accuracy", 50.0, 4)
    assert score.standard_error == pytest.approx(25)
    assert score.more == {"f1": 50.0, "matthews": 0.0}
    np.testing.assert_array_equal(rows.answers({"logits": logits}), logits)


def test_nan_is_wrong_in_every_metric(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "text\tlabel\na\t0\nb\t1\n"))
    score = rows.score({"logits": np.array([[math.nan, 0], [math.nan, 5]], np.float32)})
    assert (score.value, score.more["f1"]) == (0, 0)


def test_more_labels_give_macro_f1(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "text\tlabel\na\tx\nb\ty\nc\tz\n"), labels=["x", "y", "z"])
    score = rows.score({"logits": np.eye(3)[[0, 1, 1]]})
    assert score.more["macro_f1"] == pytest.approx(100 * (1 + 2 / 3 + 0) / 3)


def test_taken_rows_keep_what_belongs_together(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "text\tlabel\na\t0\ngood\t1\nc\t0\n"))
    taken = rows.take([2, 1])
    assert taken.keys == ["c", "good"]
    assert taken.targets is not None
    assert taken.targets["logits"].tolist() == [0, 1]
    np.testing.assert_array_equal(taken.inputs["ids"], rows.inputs["ids"][[2, 1]])
    assert len(taken) == 2
    assert taken.score({"logits": np.eye(2)}).value == 100


def test_outputs_of_other_rows_are_refused(tmp_path: Path) -> None:
    rows = read(write(tmp_path, "text\tlabel\na\t0\nb\t1\n"))
    with pytest.raises(ValueError, match="Received: 3 rows"):
        rows.score({"logits": np.zeros((3, 2))})
    with pytest.raises(ValueError, match="Received: only hidden"):
        rows.answers({"hidden": np.zeros((2, 2))})


def test_regression_reads_scores_and_gives_correlations(tmp_path: Path) -> None:
    path = write(tmp_path, "sentence1\tsentence2\tscore\na\tb\t1.0\nc\td\t3\ne\tf\t2\ng\th\t9\n")
    rows = read(path, "regression", labels=["score"])
    assert rows.targets is not None
    assert rows.targets["logits"].dtype == np.float32
    assert rows.pairs
    outputs = {"logits": np.array([[1.0], [2.0], [3.0], [4.0]], np.float32)}
    score = rows.score(outputs, seed=1)
    assert score.metric == "pearson"
    assert score.value == pytest.approx(100 * 11.5 / math.sqrt(5 * 38.75), rel=1e-5)
    assert score.more["spearman"] == pytest.approx(80)
    assert 0 < score.standard_error < 60
    assert rows.score(outputs, seed=1) == score
    assert rows.answers(outputs).shape == (4, 1)


@pytest.mark.parametrize("value", ["x", "", "nan", "inf"])
def test_a_score_that_is_no_number_is_named_with_its_row(tmp_path: Path, value: str) -> None:
    with pytest.raises(InputError, match=r"f.tsv line 3 must have a number as its score"):
        read(write(tmp_path, f"text\tscore\na\t1\nb\t{value}\n"), "regression")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("pairs", [False, True])
def test_generated_rows_are_in_range_framed_and_unlabelled(task: str, pairs: bool) -> None:
    tokenizer = tiny_tokenizer()
    rows = generated_rows(task, tokenizer, max_len=16, count=20, seed=3, pairs=pairs)
    ids, mask, segments = rows.inputs["ids"], rows.inputs["mask"], rows.inputs["segments"]
    assert rows.targets is None
    assert not rows.labelled
    assert ids.dtype == mask.dtype == segments.dtype == np.int32
    assert 0 <= ids.min() <= ids.max() < tokenizer.vocab_size
    lengths = mask.sum(axis=1)
    assert lengths.max() == 16
    assert len(set(lengths)) > 3
    assert (ids[:, 0] == tokenizer.cls_id).all()
    assert (ids[np.arange(20), lengths - 1] == tokenizer.sep_id).all()
    assert (ids[mask == 0] == tokenizer.pad_id).all()
    assert segments.any() == rows.pairs == (pairs or task == "question-answering")
    assert not segments[mask == 0].any()
    again = generated_rows(task, tokenizer, max_len=16, count=20, seed=3, pairs=pairs)
    np.testing.assert_array_equal(again.inputs["ids"], ids)
    shapes = {"logits": (2, 16, 3) if task == "token-classification" else (2, 1)}
    outputs = {name: np.ones(shapes.get(name, (2, 16))) for name in ("logits", "start_logits", "end_logits")}
    assert rows.take([4, 0]).answers(outputs).ndim == 2


@pytest.mark.parametrize("vocab_size", [3, 50, 30522])
def test_generated_rows_need_only_a_vocabulary_size(vocab_size: int) -> None:
    rows = generated_rows("classification", vocab_size, max_len=8, count=4)
    assert rows.inputs["ids"].max() < vocab_size


def test_an_unknown_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Received: 'translation'"):
        read(write(tmp_path, "x"), "translation")


@pytest.mark.parametrize(
    ("name", "rows", "pairs", "task", "columns"),
    [
        ("sst2", 872, False, "classification", Columns()),
        ("mrpc", 408, True, "classification", Columns()),
        ("rte", 277, True, "classification", Columns()),
        ("cola", 1043, False, "classification", Columns(text="4", label="2")),
        ("stsb", 1500, True, "regression", Columns()),
    ],
)
def test_real_files_are_read_whole(name: str, rows: int, pairs: bool, task: str, columns: Columns) -> None:
    labels = ["entailment", "not_entailment"] if name == "rte" else NAMES
    tokenizer = Tokenizer.from_folder(data_folder("vocab"))
    read_back = read_rows(
        task, data_folder(name, "dev.tsv"), tokenizer=tokenizer, labels=labels, max_len=128, columns=columns
    )
    assert (len(read_back), read_back.pairs) == (rows, pairs)
    assert read_back.targets is not None
    targets = read_back.targets["logits"]
    logits = targets[:, None] if task == "regression" else np.eye(2)[targets]
    assert read_back.score({"logits": logits}).value == pytest.approx(100)
