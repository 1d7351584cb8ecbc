"""Exact match and F1 against values computed by hand from the official definition."""

import pytest

from models_tf.tasks.squad_metric import f1, judge, normalize
from models_tf.tasks.squad_text import join_pieces, original_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Denver Broncos!", "denver broncos"),
        ("a cat, an owl and the U.S.A.", "cat owl and usa"),
        ("theatre Anna", "theatre anna"),
        ("state-of-the-art", "stateoftheart"),  # punctuation goes first, so no article is left
        ("“Dà Yuán”", "“dà yuán”"),  # only ASCII punctuation goes
        ("the", ""),
        (".", ""),
        ("10\u00a0000", "10 000"),
    ],
)
def test_normalisation_is_the_official_one(text: str, expected: str) -> None:
    assert normalize(text) == expected


@pytest.mark.parametrize(
    ("prediction", "truth", "expected"),
    [
        ("Denver Broncos", "the denver broncos.", 1.0),
        ("Denver", "Denver Broncos", 2 * 1 * 0.5 / 1.5),
        ("in the city of Denver", "Denver", 2 * (1 / 4) * 1 / (5 / 4)),  # in city of denver
        ("b b c", "b c c", 2 * (2 / 3) * (2 / 3) / (4 / 3)),  # words count as often as both have them
        ("x", "y", 0.0),
        ("", "y", 0.0),
        ("", "the", 0.0),  # both empty: no shared word
    ],
)
def test_f1_by_hand(prediction: str, truth: str, expected: float) -> None:
    assert f1(prediction, truth) == pytest.approx(expected)


def test_the_best_true_answer_counts_for_each_metric() -> None:
    assert judge("Carolina Panthers", ["Panthers", "the Carolina Panthers"]) == (True, 1.0)
    exact, score = judge("Carolina", ["Panthers", "Carolina Panthers"])
    assert not exact
    assert score == pytest.approx(2 / 3)


def test_an_empty_prediction_matches_only_an_answer_of_nothing_but_punctuation_and_articles() -> None:
    assert judge("", ["four"]) == (False, 0.0)
    assert judge("", ["four", "."]) == (True, 0.0)  # as the official script


def split(text: str) -> list[str]:
    """Stands for BERT's basic tokenizer: small letters, signs apart."""
    return "".join(f" {c} " if not c.isalnum() else c for c in text.lower()).split()


@pytest.mark.parametrize(
    ("pieces", "words", "expected"),
    [
        ("steve smith", "Steve Smith's", "Steve Smith"),
        ("denver broncos", "(Denver Broncos)", "Denver Broncos"),
        ("s", "Anna's", "s"),
        ("smith ' s", "Steve Smith's", "Smith's"),
        ("unknown", "Steve Smith's", "Steve Smith's"),  # not found: all of it
    ],
)
def test_tokens_are_found_back_in_the_words(pieces: str, words: str, expected: str) -> None:
    assert original_text(pieces, words, split) == expected


def test_text_whose_letters_change_in_number_is_kept_whole() -> None:
    assert original_text("x", "ẞx", lambda text: ["ssx"]) == "ẞx"


def test_pieces_are_joined() -> None:
    assert join_pieces(["who", "play", "##s", "##ed", "?"]) == "who playsed ?"
