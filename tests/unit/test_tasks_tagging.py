"""Tagged words: CoNLL, CoNLL-U and JSON lines; tags at first pieces; entity F1 and accuracy."""

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest

from models_tf.data import read_tagged
from models_tf.errors import InputError
from models_tf.tasks import read_rows
from models_tf.tasks.rows import Columns
from models_tf.tasks.tagging import NO_LOSS, TaggingRows
from models_tf.tokenizers.tokenizer import Tokenizer
from support.real_checkpoints import data_folder
from support.tiny_models import tiny_tokenizer

LABELS = ["O", "B-per", "I-per", "B-loc", "I-loc"]
SENTENCES = [
    (("Anna", "Smith", "lives", "in", "Berlin"), ("B-per", "I-per", "O", "O", "B-loc")),
    (("who", "plays", "?"), ("O", "O", "O")),
]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def conll(separator: str = "\t", blank: str = "") -> str:
    rows = ["\n".join(f"{w}{separator}{t}" for w, t in zip(*sentence, strict=True)) for sentence in SENTENCES]
    return f"\n{blank}\n".join(rows) + "\n"


def read(path: Path, labels: list[str] = LABELS, max_len: int = 12, **settings: object) -> TaggingRows:
    rows = read_rows(
        "token-classification",
        path,
        tokenizer=tiny_tokenizer(),
        labels=labels,
        max_len=max_len,
        **settings,  # type: ignore[arg-type]
    )
    assert isinstance(rows, TaggingRows)
    return rows


def logits_for(rows: TaggingRows, tags: list[str]) -> np.ndarray:
    """Logits that say these tags for the words of the first row."""
    logits = np.zeros((len(rows), rows.max_len, len(rows.labels)), np.float32)
    for word, tag in enumerate(tags):
        logits[0, rows.first[0, word], rows.labels.index(tag)] = 5
    return logits


@pytest.mark.parametrize(
    "text",
    [
        conll(),
        conll(" "),
        conll("  "),
        conll(blank="\t"),
        conll(blank="  "),
        conll().replace("\n", "\r\n"),
        "-DOCSTART-\tO\n\n" + conll() + "\n\n\n",
        conll("\tX\tY\t"),
    ],
    ids=ascii,
)
def test_conll_columns_are_read(tmp_path: Path, text: str) -> None:
    rows = list(read_tagged(write(tmp_path / "f.conll", text)))
    assert [(row.words, row.tags) for row in rows] == SENTENCES


def test_lines_are_counted_from_one(tmp_path: Path) -> None:
    rows = read_tagged(write(tmp_path / "f.txt", "\n" + conll()))
    assert [row.lines for row in rows] == [(2, 3, 4, 5, 6), (8, 9, 10)]


def test_columns_can_be_numbered(tmp_path: Path) -> None:
    path = write(tmp_path / "f.conll", "1\tAnna\tNNP\tB-per\n")
    assert next(read_tagged(path, "2", "3")).tags == ("NNP",)
    with pytest.raises(InputError, match="the number of a column"):
        list(read_tagged(path, "word"))
    with pytest.raises(InputError, match="line 1 must have column 7"):
        list(read_tagged(path, "7"))
    with pytest.raises(InputError, match="in two columns"):
        list(read_tagged(path, "4"))


def test_a_hash_sign_is_a_word_and_in_conllu_a_comment(tmp_path: Path) -> None:
    assert next(read_tagged(write(tmp_path / "f.conll", "#\tO\nx\tO\n"))).words == ("#", "x")
    rest = "\t_" * 6
    text = (
        f"# text = vámonos\n1-2\tvámonos\t_\t_{rest}\n1\tvamos\tir\tVERB{rest}\n"
        f"2\tnos\tyo\tPRON{rest}\n2.1\tx\t_\tX{rest}\n"
    )
    row = next(read_tagged(write(tmp_path / "f.conllu", text)))
    assert (row.words, row.tags) == (("vamos", "nos"), ("VERB", "PRON"))


@pytest.mark.parametrize("keys", [("tokens", "tags"), ("words", "labels"), ("tokens", "ner_tags")])
def test_json_lines_and_gzip_are_read(tmp_path: Path, keys: tuple[str, str]) -> None:
    text = "".join(json.dumps(dict(zip(keys, sentence, strict=True))) + "\n" for sentence in SENTENCES)
    path = tmp_path / "f.jsonl.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert [(row.words, row.tags) for row in read_tagged(path)] == SENTENCES


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("f.conll", "Anna\tO\nSmith\n", "line 2 must have 2 columns, as the lines above. Received: 1"),
        ("f.conll", "Anna O\nSmith O O\n", "line 2 must have 2 columns"),
        ("f.conll", "Anna\nSmith\n", "line 1 must have a word and a tag in two columns"),
        ("f.conll", "Anna\t\n", "line 1 must have a word and a tag that are not empty"),
        ("f.conll", "\tO\n", "line 1 must have a word and a tag that are not empty"),
        ("f.conll", "", "an empty file"),
        ("f.conll", "\n \n", "must have sentences"),
        ("f.conll", "Anna\tO\nSmith\tB-org\n", "line 2: the model has no label 'B-org'. It has O, B-per"),
        ("f.conllu", "1\tx\tO\n", "line 1 must have 10 columns"),
        ("f.jsonl", '{"tokens": ["a"], "tags": []}\n', "line 1 must have a tag for each of its 1 words. Received: 0"),
        ("f.jsonl", '{"tokens": [], "tags": []}\n', "line 1 must have words that are not empty"),
        ("f.jsonl", '{"tokens": [" "], "tags": ["O"]}\n', "line 1 must have words that are not empty"),
        ("f.jsonl", '{"tokens": "a", "tags": ["O"]}\n', "'tokens' must be a list. Received: str"),
        ("f.jsonl", '{"tokens": ["a"], "tags": [null]}\n', "tags that are text or whole numbers"),
        ("f.jsonl", '{"tokens": ["a"]}\n', "must have tags or ner_tags or labels or pos_tags. Received: tokens."),
    ],
)
def test_bad_tagged_files_are_one_clear_line(tmp_path: Path, name: str, text: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read(write(tmp_path / name, text))
    assert expected in str(caught.value)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_targets_stand_at_first_pieces_only(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "f.conll", conll()))
    assert rows.targets is not None
    # [CLS] who play ##s ? [SEP]
    assert rows.targets["logits"][1].tolist() == [NO_LOSS, 0, 0, NO_LOSS, 0] + [NO_LOSS] * 7
    assert rows.targets["logits"][0, 1:6].tolist() == [1, 2, 0, 0, 3]
    assert rows.targets["logits"].dtype == np.int32
    assert rows.keys == ["Anna Smith lives in Berlin", "who plays ?"]
    assert rows.words.tolist() == [5, 3]


def test_numbers_for_tags_are_matched_with_the_labels(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "f.jsonl", '{"tokens": ["Anna", "Smith"], "ner_tags": [1, 2]}\n'))
    assert rows.tags is not None
    assert rows.tags.tolist() == [[1, 2]]
    assert "0 O, 1 B-per" in rows.notes[0]


def test_entity_f1_by_hand(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "f.conll", conll()))
    # True: Anna Smith (per), Berlin (loc). Found: Anna Smith (per, by I- alone), lives (loc), Berlin (per).
    score = rows.score({"logits": logits_for(rows, ["I-per", "I-per", "B-loc", "O", "B-per"])})
    assert (score.metric, score.n) == ("entity_f1", 2)
    assert score.value == pytest.approx(100 * 2 * 1 / (3 + 2))
    assert score.more["precision"] == pytest.approx(100 / 3)
    assert score.more["recall"] == pytest.approx(50)
    assert score.more["accuracy"] == pytest.approx(100 * (2 + 3) / 8)


def test_an_entity_does_not_go_on_in_the_next_row(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "f.conll", "Anna\tB-per\n\nSmith\tI-per\n"))
    assert rows.targets is not None
    perfect = np.eye(5)[np.maximum(rows.targets["logits"], 0)]
    score = rows.score({"logits": perfect})
    assert (score.value, score.more["recall"]) == (100, 100)


def test_words_beyond_the_length_are_wrong_and_their_entities_missed(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "f.conll", conll()), max_len=6)  # [CLS] Anna Smith lives in [SEP]: no Berlin
    assert rows.targets is not None
    score = rows.score({"logits": np.eye(5)[np.maximum(rows.targets["logits"], 0)]})
    assert score.value == pytest.approx(100 * 2 / 3)
    assert score.more["precision"] == 100
    assert score.more["accuracy"] == pytest.approx(100 * 7 / 8)
    assert "1 of 8 words have no token" in rows.notes[0]


def test_nan_is_no_answer(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "f.conll", conll()))
    score = rows.score({"logits": np.full((2, 12, 5), math.nan)})
    assert (score.value, score.more["accuracy"]) == (0, 0)


def test_other_labels_give_accuracy(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "f.conll", "anna NOUN\nlives VERB\n\nbad NOUN\n"), labels=["NOUN", "VERB"])
    score = rows.score({"logits": np.zeros((2, 12, 2))})
    assert (score.metric, score.value, score.n) == ("accuracy", pytest.approx(100 * 2 / 3), 2)


def test_answers_are_the_logits_of_words(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "f.conll", conll()))
    logits = np.random.default_rng(0).normal(size=(2, 12, 5))
    answers = rows.answers({"logits": logits})
    assert answers.shape == (8, 5)
    np.testing.assert_array_equal(answers[5:], logits[1, [1, 2, 4]])
    taken = rows.take([1])
    assert taken.answers({"logits": logits[1:]}).shape == (3, 5)
    assert taken.score({"logits": logits[1:]}).n == 1


def test_words_alone_need_no_tags(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "f.conll", "Anna\nlives\n"), labelled=False, columns=Columns())
    assert rows.targets is None
    assert rows.keys == ["Anna lives"]


@pytest.mark.parametrize(
    ("name", "sentences", "words"),
    [
        ("wnut17train.conll", 3394, 62730),
        ("emerging.dev.conll", 1009, 15733),
        ("emerging.test.annotated", 1287, 23394),
    ],
)
def test_wnut17_is_read_whole(name: str, sentences: int, words: int) -> None:
    types = ("corporation", "creative-work", "group", "location", "person", "product")
    rows = read_rows(
        "token-classification",
        data_folder("wnut17", name),
        tokenizer=Tokenizer.from_folder(data_folder("vocab")),
        labels=["O", *(f"{prefix}-{kind}" for kind in types for prefix in "BI")],
        max_len=256,
    )
    assert isinstance(rows, TaggingRows)
    assert (len(rows), rows.words.sum()) == (sentences, words)
    assert rows.targets is not None
    assert rows.score({"logits": np.eye(13)[np.maximum(rows.targets["logits"], 0)]}).value == 100


@pytest.mark.parametrize("column", ["0", "word", "9" * 5000])
def test_a_column_that_is_no_number_is_one_line(tmp_path: Path, column: str) -> None:
    from models_tf.data import read_tagged

    path = tmp_path / "rows.conll"
    path.write_text("a\tO\n\nb\tO\n")
    with pytest.raises(InputError, match="must be the number of a column, from 1") as raised:
        list(read_tagged(path, column, None))
    assert len(str(raised.value)) < 300
