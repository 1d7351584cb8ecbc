"""model.json: complete, and short enough to read."""

import json

import numpy as np

from exporters.sources.token_file import EXAMPLE_TEXTS, token_file
from support.tiny_vocab import TOKENS, tiny_tokenizer

LENGTH = 12
INPUTS = ("ids", "mask")
ENTRIES = {
    "inputs": [{"name": "ids"}, {"name": "mask"}],
    "outputs": [{"name": "logits", "dtype": "int8", "scale": 0.5}],
}


class Sum:
    """Logits that tell which row and inputs they are for."""

    name = "sum"
    inputs = INPUTS

    def __call__(self, feed):
        totals = feed["ids"].sum(axis=1)
        return {"logits": np.stack([totals, -totals / 7], axis=1).astype(np.float32)}


def make(**changes) -> str:
    values = {
        "files": {"model_int8.tflite": {"serving_default": ENTRIES}, "model_int8.onnx": ENTRIES},
        "task": "classification",
        "labels": ["no", "yes"],
        "max_seq_len": LENGTH,
        "inputs": INPUTS,
        "tokenizer": tiny_tokenizer(),
        "runners": {"model_int8.tflite": Sum()},
        "pairs": False,
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


def test_examples_give_inputs_without_padding_and_the_numbers_of_the_file():
    document = json.loads(make())
    assert [example["text"] for example in document["examples"]] == list(EXAMPLE_TEXTS)
    for example in document["examples"]:
        assert len(example["ids"]) == len(example["mask"]) == sum(example["mask"])
        assert TOKENS[example["ids"][0]] == "[CLS]"
        assert TOKENS[example["ids"][-1]] == "[SEP]"
        total = sum(example["ids"])
        assert np.allclose(example["outputs"]["model_int8.tflite"]["logits"], [total, -total / 7])
        assert "text_pair" not in example


def test_pairs_have_a_second_text_and_segments():
    document = json.loads(make(inputs=("ids", "mask", "segments"), pairs=True))
    for example in document["examples"]:
        assert example["text_pair"]
        assert max(example["segments"]) == 1


def test_without_a_tokenizer_there_are_no_examples():
    document = json.loads(make(tokenizer=None, runners={}))
    assert document["examples"] == []
    assert document["tokenizer"] is None


def test_lists_of_numbers_are_on_one_line():
    assert all(len(line) < 400 or '"about"' in line for line in make().splitlines())
    assert any(line.strip().startswith('"ids": [') and line.rstrip().endswith("],") for line in make().splitlines())


def test_logits_are_explained_as_the_task_has_them():
    assert "the score" in json.loads(make(task="regression", labels=["score"]))["meanings"]["logits"]
    assert "for each token" in json.loads(make(task="token-classification"))["meanings"]["logits"]
    assert "the largest" in json.loads(make())["meanings"]["logits"]


def test_untrained_weights_are_marked():
    assert json.loads(make())["trained"] is True
    assert json.loads(make(trained=False))["trained"] is False
