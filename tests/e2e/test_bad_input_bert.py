"""A checkpoint that is not BERT, or not the BERT that its config describes: one line on stderr, exit code 2, nothing
written. In this process, but for one run of the command itself.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from exporters.commands import main as cli
from support.export_command import everything_under, run
from support.tiny_models import RELATIVES, write_checkpoint

Refused = Callable[..., str]
Change = Callable[[dict[str, np.ndarray]], Any]
LAYER = "bert.encoder.layer.1"


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("bert") / "mine", "bert")


@pytest.fixture(scope="module")
def mobilebert(tmp_path_factory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("mobilebert") / "mine", "mobilebert")


@pytest.fixture
def refused(tmp_path, monkeypatch, capfd) -> Refused:
    """Runs the command in a fresh folder, asserts the four claims, and returns the line."""

    def check(*arguments: object) -> str:
        place = tmp_path / "fresh"
        place.mkdir(exist_ok=True)
        monkeypatch.chdir(place)
        code = cli.main([str(argument) for argument in arguments])
        found = capfd.readouterr()
        assert code == 2, found.err
        assert found.out == ""
        assert len(found.err.splitlines()) == 1, found.err
        assert found.err.startswith("export-mobile: ")
        assert everything_under(place) == []
        return found.err

    return check


def changed(source: Path, target: Path, *, tensors: Change | None = None, **config: Any) -> Path:
    """A copy with keys of config.json replaced (... takes one out) and its tensors edited."""
    shutil.copytree(source, target)
    document = {**json.loads((target / "config.json").read_text()), **config}
    (target / "config.json").write_text(json.dumps({key: value for key, value in document.items() if value is not ...}))
    if tensors is not None:
        stored = load_file(target / "model.safetensors")
        tensors(stored)
        save_file(stored, target / "model.safetensors", metadata={"format": "pt"})
    return target


def flags(folder: Path) -> tuple[object, ...]:
    return ("--model", "bert", "--checkpoint", folder, "--quantize", "float32")


@pytest.mark.parametrize("with_model", [True, False], ids=["--model bert", "no --model"])
@pytest.mark.parametrize(
    ("model_type", "architecture"),
    [
        ("xlnet", "XLNetForSequenceClassification"),
        ("deberta", "DebertaForSequenceClassification"),
    ],
)
def test_a_relative_of_bert_is_named_with_what_is_expected(
    refused, bert, tmp_path, model_type, architecture, with_model
):
    folder = changed(bert, tmp_path / "other", model_type=model_type, architectures=[architecture])
    line = refused(*(flags(folder) if with_model else ("--checkpoint", folder, "--quantize", "float32")))
    assert "config.json is the config of another architecture: expected `model_type` " in line
    assert "`model_type` bert." in line or not with_model
    assert f'Received: "{model_type}".' in line


def test_a_relative_whose_config_says_bert_is_known_by_its_class(refused, bert, tmp_path):
    line = refused(*flags(changed(bert, tmp_path / "other", architectures=["RobertaModel"])))
    assert "`architectures` must be of one model. Received: bert, and RobertaModel of roberta." in line


def test_a_mobilebert_is_sent_to_its_own_name(refused, mobilebert):
    line = refused(*flags(mobilebert))
    assert 'expected `model_type` bert. Received: "mobilebert": give --model mobilebert.' in line


@pytest.mark.parametrize("model", RELATIVES)
def test_a_family_of_its_own_is_sent_to_its_own_name(refused, bert, tmp_path, model):
    line = refused(*flags(changed(bert, tmp_path / "other", model_type=model)))
    assert f'expected `model_type` bert. Received: "{model}": give --model {model}.' in line


def test_a_bert_is_sent_to_its_own_name(refused, bert):
    line = refused("--model", "mobilebert", "--checkpoint", bert, "--quantize", "float32")
    assert 'expected `model_type` mobilebert. Received: "bert": give --model bert.' in line


def test_weights_of_mobilebert_under_a_config_of_bert(refused, bert, mobilebert, tmp_path):
    folder = changed(bert, tmp_path / "mixed")
    shutil.copy(mobilebert / "model.safetensors", folder / "model.safetensors")
    line = refused(*flags(folder))
    assert "the weights lack tensor embeddings.word_embeddings.weight, which config.json asks for." in line
    assert "Received: tensors of another model, such as mobilebert." in line


def rename(old: str, new: str) -> Change:
    def change(tensors: dict[str, np.ndarray]) -> None:
        for name in [name for name in tensors if old in name]:
            tensors[name.replace(old, new)] = tensors.pop(name)

    return change


def put(name: str, *shape: int) -> Change:
    return lambda tensors: tensors.update({name: np.ones(shape, np.float32)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (rename("bert.", "roberta."), ["the weights lack tensor", "such as roberta."]),
        (rename("bert.encoder.", "distilbert.transformer."), ["lack tensor bert.encoder.layer.0"]),
        (
            lambda tensors: tensors.pop(f"{LAYER}.attention.self.key.bias"),
            [f"lack tensor {LAYER}.attention.self.key.bias"],
        ),
        (lambda tensors: tensors.pop("bert.pooler.dense.weight"), ["lack tensor bert.pooler.dense.weight"]),
        (lambda tensors: tensors.pop("classifier.bias"), ["lack tensor classifier.bias"]),
        (put("bert.encoder.layer.2.output.dense.bias", 24), ["bert.encoder.layer.2.output.dense.bias is not part"]),
        (put("cls.predictions.bias", 60), ["cls.predictions.bias is not part"]),
        (put(f"{LAYER}.attention.self.distance_embedding.weight", 31, 12), ["distance_embedding.weight is not part"]),
        (put(f"{LAYER}.crossattention.self.query.bias", 24), ["crossattention.self.query.bias is not part"]),
        # Three heads of four: what a pruned model looks like whose config does not say so.
        (put(f"{LAYER}.attention.self.query.weight", 12, 24), ["query.weight must have shape (24, 24)", "(12, 24)"]),
        # Not transposed.
        (put(f"{LAYER}.intermediate.dense.weight", 24, 20), ["must have shape (20, 24)", "Received: (24, 20)"]),
        (put("bert.embeddings.position_embeddings.weight", 15, 24), ["must have shape (16, 24)", "(15, 24)"]),
        (put("classifier.weight", 2, 24), ["classifier.weight must have shape (3, 24)", "(2, 24)"]),
        (lambda tensors: tensors["classifier.bias"].fill(np.inf), ["classifier.bias must be finite"]),
    ],
)
def test_tensors_that_are_missing_left_over_or_of_another_shape_are_named(refused, bert, tmp_path, change, words):
    line = refused(*flags(changed(bert, tmp_path / "other", tensors=change)))
    for word in words:
        assert word in line


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"pruned_heads": {"0": [1]}}, ["`pruned_heads` must be {} or null", "before it was pruned"]),
        ({"position_embedding_type": "relative_key"}, ["must be 'absolute'", "relative_key: relative positions"]),
        ({"position_embedding_type": "relative_key_query"}, ["must be 'absolute'", "relative_key_query"]),
        ({"is_decoder": True}, ["`is_decoder` must be false", "give an encoder"]),
        ({"add_cross_attention": True}, ["`add_cross_attention` must be false"]),
        ({"quantization_config": {"bits": 4}}, ["`quantization_config` must be null", "before it was quantized"]),
        ({"hidden_act": "mish"}, ["`hidden_act` must be one of relu", "Received: mish"]),
        ({"num_attention_heads": 5}, ["multiple of `num_attention_heads`, 5", "Received: 24"]),
        ({"num_hidden_layers": 3}, ["lack tensor bert.encoder.layer.2."]),
        ({"num_hidden_layers": 1}, ["bert.encoder.layer.1.", "is not part"]),
        ({"hidden_size": "24"}, ["`hidden_size` must be a whole number"]),
        ({"architectures": ["BertLMHeadModel"]}, ["another architecture", "BertLMHeadModel"]),
        ({"architectures": ["BertForMultipleChoice"]}, ["another architecture", "BertForMultipleChoice"]),
        ({"id2label": {"0": "a", "1": "b"}, "label2id": ...}, ["must have shape (2, 24)", "(3, 24)"]),
    ],
)
def test_a_setting_that_is_not_built_or_does_not_fit_is_named(refused, bert, tmp_path, config, words):
    line = refused(*flags(changed(bert, tmp_path / "other", **config)))
    for word in ["config.json", *words]:
        assert word in line


def test_a_base_model_is_not_exported_as_a_classifier(refused, tmp_path):
    folder = write_checkpoint(tmp_path / "base", "bert", "base")
    line = refused(*flags(folder), "--task", "classification")
    assert "Received: a base model; fine-tune it with `export-mobile train`." in line


def test_training_refuses_a_relative_of_bert_as_well(refused, bert, tmp_path):
    folder = changed(bert, tmp_path / "other", model_type="xlnet")
    (tmp_path / "rows.tsv").write_text("text\tlabel\n1 2\tyes\n3\tno\n4\tperhaps\n")
    rows = ("--train", tmp_path / "rows.tsv", "--dev", tmp_path / "rows.tsv", "--output", "out")
    line = refused("train", "--model", "bert", "--checkpoint", folder, *rows)
    assert 'expected `model_type` bert. Received: "xlnet".' in line


def test_the_command_itself_says_one_line_and_writes_nothing(bert, tmp_path):
    folder = changed(bert, tmp_path / "other", model_type="xlnet")
    (tmp_path / "fresh").mkdir()
    done = run(*flags(folder), cwd=tmp_path / "fresh")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert 'expected `model_type` bert. Received: "xlnet".' in line
    assert everything_under(tmp_path / "fresh") == []
