"""Which words go on from layer to layer: as values, as text and as a picture."""

import dataclasses
import itertools
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters.explanation.chart import svg
from exporters.explanation.run import Answer, ExplainedText, Explanation, Word, explain_texts, survivors
from exporters.explanation.text import answer_text, columns, drawing, notes, summary
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.encoder.model import Encoder
from models_tf.errors import InputError
from support.spiece_files import PIECES, spiece_model
from support.tiny_models import TOKENS, VOCAB

ROOT = Path(__file__).parents[2]
TEXT = "The film was unplayable, Anna!"  # un ##p ##l ##a ##y ##able
DOCUMENT: dict[str, Any] = {
    "vocab_size": len(TOKENS),
    "hidden_size": 24,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 20,
    "max_position_embeddings": 24,
}


def powerbert(
    retention: tuple[int, ...] = (10, 7, 4, 2),
    *,
    by: str = "significance",
    model: str = "powerbert",
    head: str = "classification",
    labels: tuple[str, ...] = ("no", "yes", "perhaps"),
    files: dict[str, bytes] | None = None,
    **changes: Any,
) -> EncoderCheckpoint:
    tokens = {"retention": list(retention), "retention_by": by} if retention else {}
    document = {**DOCUMENT, "model_type": model, **tokens, **changes}
    made = checkpoint.random_init(
        model, document, head=head, labels=labels, tokenizer_files=files or {"vocab.txt": VOCAB}
    )
    generator = np.random.default_rng(5)
    tensors = {name: generator.normal(0, 0.4, v.shape).astype(np.float32) for name, v in made.tensors.items()}
    return checkpoint.with_tensors(made, tensors)


def one(text: str = TEXT, made: EncoderCheckpoint | None = None, **options: Any) -> ExplainedText:
    (found,) = explain_texts(powerbert() if made is None else made, [text], **options).texts
    return found


def test_pieces_are_joined_to_the_words_of_the_text_as_it_is_written():
    words = one().words
    assert [word.text for word in words] == ["[CLS]", "The", "film", "was", "unplayable", ",", "Anna", "!", "[SEP]"]
    assert [word.special for word in words] == [True, *[False] * 7, True]
    pieces = {word.text: word.places for word in words}
    assert pieces["[CLS]"] == (0,)
    assert pieces["unplayable"] == tuple(range(4, 4 + len(pieces["unplayable"])))
    assert len(pieces["unplayable"]) > 2
    assert [place for word in words for place in word.places] == list(range(len(one().places)))


def test_each_layer_keeps_the_tokens_that_the_forward_pass_ranks_first():
    made = powerbert((10, 7, 4, 2))
    found = one(made=made)
    encoder = Encoder(made.config, made.head, made.tensors)
    tokens = len(found.places)
    from models_tf.tokenizers.tokenizer import Tokenizer

    inputs = Tokenizer.from_files({"vocab.txt": VOCAB}).encode(
        [TEXT], max_len=24
    )  # with padding, which must not matter
    inside = encoder.activations(*(inputs[name] for name in ("ids", "mask", "segments")))
    left = np.arange(24)
    for layer, (count, significance) in enumerate(zip((10, 7, 4, 2), inside.significance, strict=True)):
        scores = significance.numpy()[0].copy()
        # The first token before all others; of equals the one further left, as the input has them.
        order = sorted(range(1, len(left)), key=lambda i: (left[i] >= tokens, -scores[i]))
        left = left[[0, *order[: count - 1]]]
        expected = (0,) if layer == 3 else tuple(sorted(left))
        assert found.layers[layer] == expected


def test_the_first_tokens_are_kept_where_the_place_decides():
    found = one(made=powerbert((9, 5, 3, 1), by="first"))
    assert found.layers == tuple(tuple(range(count)) for count in (9, 5, 3, 1))


def test_a_token_that_is_gone_does_not_come_back_and_the_last_layer_answers_for_the_first():
    layers = one(made=powerbert((10, 7, 4, 4))).layers
    assert all(set(later) < set(earlier) for earlier, later in itertools.pairwise(layers))
    assert [len(kept) for kept in layers] == [10, 7, 4, 1]
    assert layers[-1] == (0,)


def test_a_base_model_shows_the_last_layer_as_it_is_and_has_no_answer():
    found = one(made=powerbert((10, 7, 4, 3), head="base", labels=()))
    assert len(found.layers[-1]) == 3
    assert found.answers == ()


def test_texts_beside_it_do_not_change_an_explanation():
    made, longer = powerbert(), "who lives in berlin when anna was good"
    together = explain_texts(made, [TEXT, longer]).texts
    assert together[0].layers == one(made=made).layers
    assert together[1].layers == one(longer, made).layers
    assert together[0].answers[0].probability == pytest.approx(one(made=made).answers[0].probability, abs=1e-6)


def test_padding_is_no_token_of_a_short_text():
    found = one("Anna", powerbert((20, 20, 20, 20)))
    assert [len(kept) for kept in found.layers] == [3, 3, 3, 1]
    assert any("none was dropped" in note for note in notes(found))


def test_pairs_have_the_words_of_both_texts():
    (found,) = explain_texts(powerbert(), ["Anna lives"], ["in Berlin?"]).texts
    assert [word.text for word in found.words] == ["[CLS]", "Anna", "lives", "[SEP]", "in", "Berlin", "?", "[SEP]"]


def test_a_text_that_is_too_long_is_cut_and_says_so():
    found = one("the film was good " * 20, max_seq_len=12)
    assert len(found.places) == 12
    assert found.cut == 80 - 10
    assert any("70 more tokens" in note for note in notes(found))


def test_a_text_may_hold_the_names_of_special_tokens():
    found = one("the [SEP] film [CLS]")
    assert [word.text for word in found.words] == ["[CLS]", "the", "[SEP]", "film", "[CLS]", "[SEP]"]


def test_the_answer_has_the_probability_of_its_label():
    made = powerbert()
    encoder = Encoder(made.config, made.head, made.tensors)
    from models_tf.tokenizers.tokenizer import Tokenizer

    inputs = Tokenizer.from_files({"vocab.txt": VOCAB}).encode([TEXT], max_len=24)
    logits = encoder(*(inputs[name] for name in ("ids", "mask", "segments")))["logits"].numpy()[0]
    (answer,) = one(made=made).answers
    assert answer.label == made.labels[logits.argmax()]
    assert answer.probability == pytest.approx((np.exp(logits) / np.exp(logits).sum()).max(), abs=1e-5)


def test_a_regression_has_a_score_and_several_labels_are_those_that_hold():
    (score,) = one(made=powerbert(labels=("stars",))).answers
    assert (score.label, score.probability) == ("stars", None)

    def several(made):
        return dataclasses.replace(made, document={**made.document, "problem_type": "multi_label_classification"})

    (only,) = one(made=several(powerbert(labels=("spam",)))).answers
    assert (only.label, only.score) == ("spam", None)
    answers = one(made=several(powerbert())).answers
    assert all(answer.probability is not None for answer in answers)
    assert len(answers) == 1 or all((answer.probability or 0) > 0.5 for answer in answers)
    assert answer_text((Answer(label="stars", score=3.25),)) == "stars 3.25"
    assert answer_text((Answer(label="a", probability=0.934),)) == "a (93.4 %)"


def test_a_model_that_keeps_all_tokens_is_refused_with_the_remedy():
    with pytest.raises(
        InputError, match=r"Received: bert, which keeps all of them; make one.*--model powerbert.*--retention"
    ):
        explain_texts(powerbert((), model="bert"), [TEXT])
    with pytest.raises(InputError, match="Received: powerbert, which keeps all"):
        explain_texts(powerbert(()), [TEXT])
    with pytest.raises(InputError, match="--max-seq-len must be 5 to 24"):
        explain_texts(powerbert(), [TEXT], max_seq_len=25)
    with pytest.raises(InputError, match="needs a text"):
        explain_texts(powerbert(), [])


def test_an_albert_with_retention_is_explained_in_words_of_sentencepiece():
    files = {"spiece.model": spiece_model()}
    made = powerbert(
        (8, 6, 4, 1), model="albert", files=files, vocab_size=len(PIECES), embedding_size=12, num_hidden_groups=1
    )
    found = one("The film was x9, Anna!", made)
    # The comma and the sign hang on the word before: there is no space between.
    assert [word.text for word in found.words] == ["[CLS]", "The", "film", "was", "x9,", "Anna!", "[SEP]"]
    assert [place for word in found.words for place in word.places] == list(range(len(found.places)))
    assert [len(kept) for kept in found.layers] == [8, 6, 4, 1]


DRAWN = ExplainedText(
    text="日本 is unbearable <b>",
    pair=None,
    words=(
        Word(text="[CLS]", places=(0,), special=True),
        Word(text="日本", places=(1,)),
        Word(text="is", places=(2,)),
        Word(text="unbearable", places=(3, 4, 5)),
        Word(text="<b>", places=(6,)),
    ),
    layers=((0, 1, 3, 4, 6), (0, 4), (0,)),
    answers=(Answer(label="bad & sad", probability=0.9),),
)


def test_the_drawing_has_a_column_a_word_a_dot_where_it_is_gone_and_a_sign_for_a_part():
    assert drawing(DRAWN) == [
        "input    7  [CLS] 日本 is unbearable  <b>",
        "layer 1  5  [CLS] 日本 ·  unbearable~ <b>",
        "layer 2  2  [CLS] ·    ·  unbearable~ ·",
        "layer 3  1  [CLS] ·    ·  ·           ·",
    ]
    assert notes(DRAWN) == ["answer: bad & sad (90.0 %)"]


def test_a_drawing_that_is_too_wide_goes_on_below_to_the_layer_that_has_nothing_left_of_it():
    assert drawing(DRAWN, width=34) == [
        "input    7  [CLS] 日本 is",
        "layer 1  5  [CLS] 日本 ·",
        "layer 2  2  [CLS] ·    ·",
        "layer 3  1  [CLS] ·    ·",
        "",
        "input       unbearable  <b>",
        "layer 1     unbearable~ <b>",
        "layer 2     unbearable~ ·",
        "layer 3     (none left)",
    ]
    assert max(columns(line) for line in drawing(DRAWN, width=34)) <= 34


def test_the_summary_names_the_retention_and_what_decides():
    kinds = {"significance": "most attention", "first": "the first of the text", "random": "by chance"}
    for by, words in kinds.items():
        explanation = Explanation(
            model="powerbert", trained=True, retention=(5, 2, 1), retention_by=by, max_seq_len=16, texts=(DRAWN, DRAWN)
        )
        text = summary(explanation)
        assert "3 layers keep 5 2 1 tokens of at most 16" in text
        assert words in text.splitlines()[0]
        assert text.count("answer: ") == 2
    assert json.loads(explanation.to_json())["texts"][0]["layers"] == [[0, 1, 3, 4, 6], [0, 4], [0]]


def test_the_picture_is_xml_with_a_cell_for_each_word_until_the_layer_that_drops_it():
    root = ET.fromstring(svg((DRAWN,)))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    expected = {"[CLS]": 4, "日本": 3, "is": 2, "unbearable": 4, "<b>": 3}
    assert {word: texts.count(word) for word in expected} == expected
    assert "answer: bad & sad (90.0 %)" in texts
    assert survivors(DRAWN.words[3], DRAWN.layers[1]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--text", "x"], "keeps all of them"),
        (["--text", "x", "--data", "y.tsv"], "Received: both"),
        ([], "Received: neither"),
        (["--text", " "], "an empty text"),
        (["--data", "none.tsv"], "no such file"),
        (["--text", "x", "--rows", "3"], "--rows is for --data"),
        (["--text", "x", "--text-pair", "y", "--text-pair", "z"], "2 for 1"),
        (["--text", "x", "--model", "prado"], "for token models"),
        (["--text", "x", "--model", "mobilebert"], "another architecture"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2_before_tensorflow_is_loaded(arguments, words, tmp_path):
    checkpoint.save(tmp_path / "dense", powerbert((), model="bert"))
    code = (
        "import sys; from exporters.commands.main import main; code = main(sys.argv[1:]); "
        "assert 'tensorflow' not in sys.modules; sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "explain", "--checkpoint", str(tmp_path / "dense"), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr
