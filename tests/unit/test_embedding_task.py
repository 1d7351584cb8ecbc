"""Pairs of sentences: how they are read, and scores computed by hand."""

from pathlib import Path

import numpy as np
import pytest

from models_tf.encoder.heads import EMBEDDING, Head
from models_tf.errors import InputError
from models_tf.tasks import generated_rows, read_rows
from models_tf.tasks.embedding import EmbeddingRows, nearest, unit
from models_tf.tasks.judged import STATISTICS
from support.tiny_models import tiny_tokenizer

PAIRS = "sentence1\tsentence2\tscore\na film\ta movie\t4\nthe play\tanna lives\t1\na film\twho is anna\t0\n"
# Angles of the six sentences: the pairs have cosines of 10, 55 and 90 degrees.
ANGLES = np.radians([0, 10, 25, 80, 0, 90])
VECTORS = np.stack([np.cos(ANGLES), np.sin(ANGLES)], 1).astype(np.float32)


@pytest.fixture
def rows(tmp_path: Path) -> EmbeddingRows:
    path = tmp_path / "pairs.tsv"
    path.write_text(PAIRS)
    found = read_rows("embedding", path, tokenizer=tiny_tokenizer(), max_len=12)
    assert isinstance(found, EmbeddingRows)
    return found


def test_a_pair_is_two_rows_of_one_text_each(rows: EmbeddingRows) -> None:
    assert rows.sentences == ("a film", "a movie", "the play", "anna lives", "a film", "who is anna")
    assert rows.keys[0] == rows.keys[1] == "a film\ta movie"
    assert (len(rows), rows.rows_each, rows.numbers) == (6, 2, (1, 1, 2, 2, 3, 3))
    assert not rows.inputs["segments"].any()
    assert rows.texts(1) == ("a movie", None)
    np.testing.assert_array_equal(rows.inputs["ids"][0], rows.inputs["ids"][4])


def test_scores_in_the_order_of_the_cosines_correlate_fully(rows: EmbeddingRows) -> None:
    score = rows.score({"embedding": VECTORS})
    assert (score.metric, score.value, score.n) == ("spearman", pytest.approx(100), 3)
    cosines = np.cos(np.radians([10, 55, 90]))
    assert score.more["pearson"] == pytest.approx(100 * np.corrcoef(cosines, [4, 1, 0])[0, 1])
    assert rows.score({"embedding": VECTORS * 7}).value == pytest.approx(100)  # the length does not matter


def test_a_swap_of_two_of_three_ranks_is_half_a_correlation(rows: EmbeddingRows) -> None:
    swapped = VECTORS[[0, 3, 2, 1, 4, 5]]  # cosines of 80, 15 and 90 degrees for the scores 4, 1, 0
    assert rows.score({"embedding": swapped}).value == pytest.approx(50)
    judged = rows.judge({"embedding": swapped})
    assert judged.value() == pytest.approx(50) == STATISTICS["spearman"](judged.counts)
    assert (len(judged), judged.expected) == (3, ("4", "1", "0"))


def test_neighbors_and_cosines_beside_a_reference(rows: EmbeddingRows) -> None:
    same = rows.compared({"embedding": VECTORS}, {"embedding": VECTORS})
    assert same == {"nearest_neighbors": 100.0, "mean_cosine": pytest.approx(100)}
    # Five different sentences at 0, 10, 25, 80, 90 degrees; the one at 25 moves to 65 and is nearest to 80, not 10.
    moved = VECTORS.copy()
    moved[2] = [np.cos(np.radians(65)), np.sin(np.radians(65))]
    found = rows.compared({"embedding": moved}, {"embedding": VECTORS})
    assert found["nearest_neighbors"] == pytest.approx(80)
    assert found["mean_cosine"] == pytest.approx(100 * (4 + np.cos(np.radians(40))) / 5, abs=1e-4)


def test_the_nearest_of_the_others_by_hand() -> None:
    angles = np.radians([0, 10, 25, 60, 100])
    assert nearest(unit(np.stack([np.cos(angles), np.sin(angles)], 1))).tolist() == [1, 0, 1, 2, 3]


def test_vectors_that_are_no_numbers_predict_nothing(rows: EmbeddingRows) -> None:
    broken = np.full_like(VECTORS, np.nan)
    assert rows.score({"embedding": broken}).value == 0
    assert rows.compared({"embedding": broken}, {"embedding": VECTORS})["nearest_neighbors"] == 0


def test_one_sentence_of_a_pair_cannot_be_scored(rows: EmbeddingRows) -> None:
    part = rows.take([0, 2])
    assert part.sentences == ("a film", "the play")
    with pytest.raises(ValueError, match="both sentences"):
        part.score({"embedding": VECTORS[:2]})


def test_texts_alone_are_enough_for_calibration(tmp_path: Path) -> None:
    path = tmp_path / "texts.tsv"
    path.write_text("text\na film\nthe play\n")
    found = read_rows("embedding", path, tokenizer=tiny_tokenizer(), max_len=12, labelled=False)
    assert (len(found), found.rows_each, found.labelled) == (2, 1, False)
    path.write_text(PAIRS)
    assert len(read_rows("embedding", path, tokenizer=tiny_tokenizer(), max_len=12, labelled=False)) == 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("text\tscore\na film\t3\n", "two texts and a score"),
        ("sentence1\tsentence2\tscore\na\tb\thigh\n", "must have a number as its score. Received: 'high'"),
        ("sentence1\tsentence2\tscore\na\tb\tnan\n", "must have a number as its score"),
        ("sentence1\tsentence2\tscore\na\t\t3\n", "must have text"),
    ],
)
def test_rows_that_cannot_be_scored_are_one_line(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_rows("embedding", path, tokenizer=tiny_tokenizer(), max_len=12)
    assert expected in str(error.value)


def test_made_up_rows_are_single_texts() -> None:
    found = generated_rows("embedding", 60, max_len=12, count=4)
    assert (len(found), found.rows_each, found.inputs["segments"].any()) == (4, 1, False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": EMBEDDING},
        {"kind": EMBEDDING, "pooling": "median"},
        {"kind": "base", "pooling": "mean"},
        {"kind": "base", "normalize": True},
        {"kind": EMBEDDING, "pooling": "mean", "num_labels": 2},
    ],
)
def test_a_head_has_a_pooling_if_and_only_if_it_is_an_embedding(wrong: dict) -> None:
    with pytest.raises(ValueError, match="must be"):
        Head(**wrong)
