"""model.json: complete, and short enough to read."""

import json

import pytest

from exporters.sources.token_file import token_file
from models_tf.tokenizers.tokenizer import Tokenizer
from support.family_tokenizers import files_of
from support.tiny_models import TOKENS, tiny_tokenizer

LENGTH = 12
INPUTS = ("ids", "mask")
ENTRIES = {
    "inputs": [{"name": "ids"}, {"name": "mask"}],
    "outputs": [{"name": "logits", "dtype": "int8", "scale": 0.5}],
}


def make(**changes) -> str:
    values = {
        "files": {"model_int8.tflite": {"serving_default": ENTRIES}, "model_int8.onnx": ENTRIES},
        "task": "classification",
        "labels": ["no", "yes"],
        "max_seq_len": LENGTH,
        "inputs": INPUTS,
        "tokenizer": tiny_tokenizer(),
    }
    return token_file(**(values | changes))


def test_the_tokenizers_settings_and_the_labels_are_there():
    document = json.loads(make())
    settings = document["tokenizer"]
    assert [TOKENS[settings[f"{kind}_id"]] for kind in ("pad", "unk", "cls", "sep")] == [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
    ]
    assert settings["lower_case"] is True
    assert settings["vocab_size"] == len(TOKENS)
    assert document["labels"] == ["no", "yes"]
    assert set(document["meanings"]) == {"ids", "mask", "logits"}


def test_without_a_tokenizer_there_are_no_settings_of_one():
    assert json.loads(make(tokenizer=None))["tokenizer"] is None


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (None, "A row is [CLS] text [SEP], or [CLS] text [SEP] second text [SEP];"),
        ("bert", "A row is [CLS] text [SEP], or [CLS] text [SEP] second text [SEP];"),
        ("xlm-roberta", "A row is <s> text </s>, or <s> text </s> </s> second text </s>;"),
    ],
)
def test_rows_are_shown_with_the_special_tokens_of_the_tokenizer(model, rows):
    tokenizer = None if model is None else Tokenizer.from_files(files_of(model))
    assert rows in json.loads(make(tokenizer=tokenizer))["about"]


@pytest.mark.parametrize("pairs", [True, False, None])
def test_whether_rows_are_pairs_is_said(pairs):
    assert json.loads(make(pairs=pairs))["pairs"] is pairs


def test_logits_are_explained_as_the_task_has_them():
    assert "the score" in json.loads(make(task="regression", labels=["score"]))["meanings"]["logits"]
    assert "for each token" in json.loads(make(task="token-classification"))["meanings"]["logits"]
    assert "the largest" in json.loads(make())["meanings"]["logits"]
    assert "the label's own probability" in json.loads(make(multi_label=True))["meanings"]["logits"]


def test_untrained_weights_are_marked():
    assert json.loads(make())["trained"] is True
    assert json.loads(make(trained=False))["trained"] is False


def test_one_length_has_the_reason_of_the_model():
    about = json.loads(make())["about"]
    assert "max_seq_len, since the model keeps a fixed number of tokens: pad with pad_id." in about
    about = json.loads(make(attends_to_distances=True))["about"]
    assert "max_seq_len, since the model's attention to distances needs the number of tokens: pad with pad_id." in about
    assert "fixed number" not in about
    assert "since" not in json.loads(make(any_length=True, attends_to_distances=True))["about"]
