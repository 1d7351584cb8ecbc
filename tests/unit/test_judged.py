"""What a model answered on each row: the counts of all rows give the score, for every task."""

import numpy as np
import pytest

from exporters.data.text_rows import TextRows
from models_tf.tasks import read_rows
from models_tf.tasks.judged import Judged
from support.squad_files import document, write_json
from support.tiny_models import tiny_tokenizer

TAGS = "Anna\tB-per\nSmith\tI-per\nlives\tO\n\nwho\tO\nplays\tO\n\nBerlin\tB-loc\n"
FILES = {
    "classification": ("f.tsv", "text\tlabel\ngood film\tyes\nbad film\tno\na film\tyes\n", ("no", "yes")),
    "regression": ("f.tsv", "text\tscore\ngood film\t1.5\nbad film\t-2\na film\t0.25\n", ("score",)),
    "token-classification": ("f.conll", TAGS, ("O", "B-per", "I-per", "B-loc")),
    "words": ("f.conll", TAGS.replace("B-", "").replace("I-", ""), ("O", "per", "loc")),
}


def rows_of(task, folder):
    if task == "question-answering":
        return read_rows(task, write_json(folder / "squad.json", document()), tokenizer=tiny_tokenizer(), max_len=64)
    name, text, labels = FILES[task]
    (folder / name).write_text(text)
    kind = "token-classification" if task == "words" else task
    return read_rows(kind, folder / name, tokenizer=tiny_tokenizer(), labels=labels, max_len=12)


def outputs_of(rows, task, seed):
    generator = np.random.default_rng(seed)
    if task == "question-answering":
        return {name: generator.normal(size=rows.inputs["ids"].shape) for name in ("start_logits", "end_logits")}
    tagged = task in ("token-classification", "words")
    shape = (*rows.inputs["ids"].shape, len(rows.labels)) if tagged else (len(rows), len(rows.labels))
    return {"logits": generator.normal(size=shape).astype(np.float32)}


@pytest.mark.parametrize("task", [*FILES, "question-answering"])
def test_the_counts_of_all_rows_give_the_score(task, tmp_path):
    rows = rows_of(task, tmp_path)
    for seed in range(5):
        outputs = outputs_of(rows, task, seed)
        judged, score = rows.judge(outputs), rows.score(outputs)
        assert judged.metric == score.metric
        assert judged.value() == pytest.approx(score.value)
        assert len(judged) == score.n == len(judged.answers)


def test_answers_are_labels_tags_scores_or_texts(tmp_path):
    rows = rows_of("classification", tmp_path)
    judged = rows.judge({"logits": np.array([[0, 1], [0, 1], [np.nan, 0]], np.float32)})
    assert (judged.answers, judged.expected) == (("yes", "yes", "-"), ("yes", "no", "yes"))
    assert judged.counts.tolist() == [[1, 1], [0, 1], [0, 1]]
    assert judged.right_or_wrong
    rows = rows_of("token-classification", tmp_path)
    logits = np.zeros((*rows.inputs["ids"].shape, 4))
    logits[0, rows.first[0, 0], 1] = 1
    judged = rows.judge({"logits": logits})
    assert judged.answers == ("B-per O O", "O O", "O")
    assert judged.expected == ("B-per I-per O", "O O", "B-loc")
    assert judged.counts.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 1]]  # right, found, wanted
    assert not judged.right_or_wrong
    rows = rows_of("regression", tmp_path)
    assert rows.judge({"logits": np.array([[1.0], [2.0], [3.5]])}).answers == ("1", "2", "3.5")


def test_texts_with_one_label_and_with_several():
    logits = np.array([[2.0, 1.0], [-1.0, -2.0], [0.5, 3.0]])
    one = TextRows(keys=["a", "b", "c"], targets=np.array([0, 1, 1]), project=None, labels=("x", "y"))
    judged = one.judge({"logits": logits})
    assert (judged.answers, judged.value()) == (("x", "x", "y"), pytest.approx(200 / 3))
    many = TextRows(
        keys=["a", "b", "c"], targets=np.array([[True, True], [True, False], [False, True]]), project=None,
        labels=("x", "y"),
    )  # fmt: skip
    judged = many.judge({"logits": logits})
    assert judged.answers == ("x, y", "-", "x, y")
    assert judged.value() == pytest.approx(many.score({"logits": logits}, seed=0).value)
    with pytest.raises(ValueError, match="without labels"):
        TextRows(keys=["a"], targets=None, project=None).judge({"logits": logits})


def test_every_unit_must_be_whole():
    with pytest.raises(ValueError, match="Every unit"):
        Judged(metric="accuracy", texts=("a",), expected=(), answers=("x",), counts=np.ones((1, 2)))
