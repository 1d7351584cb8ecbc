"""Checkpoints in the Hugging Face format: what is saved is loaded back, random weights, and saving all or nothing."""

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from models_tf import registry
from models_tf.checkpoints import atomic_files
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.encoder import load, random_init, save
from models_tf.encoder.heads import HEADS
from models_tf.errors import InputError
from support.checkpoint_folders import assert_same, edit_document, edit_tensors, refused
from support.tiny_models import BERT, MOBILEBERT, MOBILEBERTS, VOCABULARY, tiny_encoder

MODELS = registry.names(registry.TOKENS)
WEIGHTS = os.environ.get("EXPORT_MOBILE_DATA", "") and Path(os.environ["EXPORT_MOBILE_DATA"]).parent / "weights"


@pytest.fixture
def folder(tmp_path):
    save(tmp_path / "tiny", tiny_encoder())
    return tmp_path / "tiny"


# A key that is left out when it has its default: another value must come back, too.
NOT_BY_DEFAULT = {"powerbert": {"retention_by": "first"}, "mobilebert": {"classifier_activation": True}}


@pytest.mark.parametrize(
    ("model", "head"), [(model, head) for model in MODELS for head in registry.get(model).family().heads]
)
def test_what_is_saved_is_loaded_back(model, head, tmp_path):
    made = tiny_encoder(model, head, **NOT_BY_DEFAULT.get(model, {}))
    save(tmp_path, made)
    found = load(tmp_path)
    assert_same(found, made)
    assert found.trained
    assert found.new_tensors == ()
    assert found.tokenizer_files == {"vocab.txt": VOCABULARY}
    names = set(load_file(tmp_path / "model.safetensors"))
    save(tmp_path / "again", found)
    assert set(load_file(tmp_path / "again/model.safetensors")) == names
    assert (tmp_path / "again/config.json").read_bytes() == (tmp_path / "config.json").read_bytes()


@pytest.mark.parametrize("name", MOBILEBERTS)
def test_every_variant_is_loaded_back(name, tmp_path):
    made = tiny_encoder(**MOBILEBERTS[name])
    save(tmp_path, made)
    assert_same(load(tmp_path), made)


def test_a_kernel_is_stored_as_torch_has_it(folder):
    stored = load_file(folder / "model.safetensors")
    made = tiny_encoder()
    value = made.tensors["layers.1.value.kernel"]
    assert value.shape == (24, 16)
    np.testing.assert_array_equal(stored["mobilebert.encoder.layer.1.attention.self.value.weight"], value.T)
    np.testing.assert_array_equal(stored["classifier.weight"], made.tensors["classifier.kernel"].T)
    np.testing.assert_array_equal(
        stored["mobilebert.encoder.layer.0.ffn.0.output.dense.bias"], made.tensors["layers.0.ffn.0.output.bias"]
    )
    np.testing.assert_array_equal(
        stored["mobilebert.encoder.layer.0.output.dense.bias"], made.tensors["layers.0.ffn.1.output.bias"]
    )


def test_names_of_the_base_model_have_no_prefix(tmp_path):
    save(tmp_path, tiny_encoder(task="base"))
    assert "embeddings.word_embeddings.weight" in load_file(tmp_path / "model.safetensors")
    assert json.loads((tmp_path / "config.json").read_text())["architectures"] == ["MobileBertModel"]


@pytest.mark.parametrize("model", MODELS)
def test_old_names_of_norms_and_position_numbers_are_read(model, tmp_path):
    made = tiny_encoder(model, registry.get(model).family().heads[0])
    save(tmp_path, made)

    def rename(tensors):
        for name in list(tensors):
            if ".LayerNorm." in name:
                tensors[name.replace("weight", "gamma").replace("bias", "beta")] = tensors.pop(name)
        tensors[f"{registry.get(model).family().prefix}embeddings.position_ids"] = np.arange(16)[None]

    edit_tensors(tmp_path, rename)
    assert_same(load(tmp_path), made)


def test_a_norm_by_its_old_and_new_name_is_refused(folder):
    name = "mobilebert.embeddings.LayerNorm"
    edit_tensors(folder, lambda tensors: tensors.update({f"{name}.gamma": tensors[f"{name}.weight"].copy()}))
    assert f"{name}.weight is there twice" in refused(folder)


def test_half_precision_is_read_as_float32(folder):
    edit_tensors(folder, lambda t: t.update({name: value.astype(np.float16) for name, value in t.items()}))
    found, made = load(folder), tiny_encoder()
    for name, value in found.tensors.items():
        assert value.dtype == np.float32
        np.testing.assert_array_equal(value, made.tensors[name].astype(np.float16).astype(np.float32))


def test_a_regression_has_one_label_and_says_so(tmp_path):
    save(tmp_path, tiny_encoder(labels=("score",)))
    assert json.loads((tmp_path / "config.json").read_text())["problem_type"] == "regression"
    found = load(tmp_path)
    assert found.problem_type == "regression"
    assert found.head.num_labels == 1


def test_keys_that_are_not_ours_stay_in_the_config(folder, tmp_path):
    edit_document(folder, some_key={"a": [1]}, torch_dtype="float16")
    save(tmp_path / "again", load(folder))
    document = json.loads((tmp_path / "again/config.json").read_text())
    assert document["some_key"] == {"a": [1]}
    assert document["torch_dtype"] == "float32"


def test_random_weights_are_marked_until_they_are_trained(tmp_path):
    made = random_init("mobilebert", MOBILEBERT, head="classification", labels=["a", "b"])
    assert not made.trained
    save(tmp_path, made)
    found = load(tmp_path)
    assert not found.trained
    save(tmp_path, checkpoint.with_tensors(found, found.tensors))
    assert load(tmp_path).trained


def test_random_weights_depend_on_the_seed_alone():
    one, same, other = (random_init("bert", BERT, seed=seed) for seed in (1, 1, 2))
    assert_same(one, same)
    assert not np.array_equal(one.tensors["word_embedding"], other.tensors["word_embedding"])
    classifier = random_init("bert", BERT, seed=1, head="classification", labels=["a", "b"])
    np.testing.assert_array_equal(one.tensors["layers.1.query.kernel"], classifier.tensors["layers.1.query.kernel"])


def test_random_weights_are_a_truncated_normal_with_plain_norms():
    made = random_init("mobilebert", {**MOBILEBERT, "vocab_size": 2000, "initializer_range": 0.05})
    words = made.tensors["word_embedding"]
    assert np.abs(words).max() <= 0.1
    # A normal cut off at two deviations has a deviation of 0.88; 24,000 values give it within 1 %.
    assert words.std() == pytest.approx(0.05 * 0.8796, rel=0.02)
    assert (made.tensors["embedding_norm.gamma"] == 1).all()
    assert (made.tensors["layers.0.query.bias"] == 0).all()


@pytest.mark.parametrize("model", MODELS)
def test_every_token_model_of_the_registry_has_a_family_with_classes_for_its_heads_and_a_default_preset(model):
    family = registry.get(model).family()
    assert family.name == model
    assert set(family.heads) <= set(HEADS)
    assert set(family.architectures.values()) >= set(family.heads)
    assert family.config.from_document(family.preset(), "config.json").parameters() > 1_000_000
    assert family.preset() is next(iter(family.presets.values()))


def test_a_model_of_the_registry_has_a_converter_if_it_takes_tokens():
    for wrong in ({}, {"config": "x"}, {"config": "x", "model": "x", "family_path": "x"}):
        with pytest.raises(ValueError, match="must name its family, or its config and model"):
            registry.ModelEntry(name="x", summary="x", **wrong)
    with pytest.raises(InputError, match="expected mobilebert or bert"):
        registry.get("sgnn").family()


def test_a_preset_is_asked_for_by_name():
    with pytest.raises(InputError, match=r"Unknown preset of mobilebert: expected opt, tiny, ib-bert\. Received: huge"):
        random_init("mobilebert", "huge")
    with pytest.raises(InputError, match="another architecture"):
        random_init("mobilebert", BERT)
    with pytest.raises(InputError, match="prado has no checkpoints"):
        random_init("prado", "opt")


def test_weights_that_are_not_finite_are_not_saved(tmp_path):
    made = tiny_encoder("bert")
    made.tensors["pooler.bias"][0] = np.nan
    with pytest.raises(InputError, match="NaN or infinity in pooler"):
        save(tmp_path / "new", made)
    assert not (tmp_path / "new").exists()


def test_a_checkpoint_holds_the_tensors_of_its_config():
    made = tiny_encoder()
    with pytest.raises(ValueError, match="must fit the config"):
        dataclasses.replace(made, tensors={**made.tensors, "more": np.zeros(1, np.float32)})
    with pytest.raises(ValueError, match="must fit the head"):
        dataclasses.replace(made, labels=["a"])


def test_a_full_disk_leaves_the_earlier_checkpoint(folder, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_files.os, "fsync", full)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(OSError, match="No space"):
        save(folder, tiny_encoder(seed=1))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_kill_between_the_files_of_another_model_leaves_no_checkpoint(folder, monkeypatch):
    def killed(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        save(folder, tiny_encoder(num_hidden_layers=1))
    assert "lacks config.json" in refused(folder)


def test_another_tokenizer_replaces_the_one_that_was_there(folder):
    (folder / "tokenizer.json").write_text("{}")
    assert set(load(folder).tokenizer_files) == {"vocab.txt", "tokenizer.json"}
    save(folder, tiny_encoder())
    assert set(load(folder).tokenizer_files) == {"vocab.txt"}


@pytest.mark.skipif(not WEIGHTS, reason="EXPORT_MOBILE_DATA does not name the folder of the data sets")
def test_a_real_bert_in_half_precision_is_loaded():
    found = load(WEIGHTS / "minilm-l6-sst2")
    assert found.model_name == "bert"
    assert found.labels == ["negative", "positive"]
    assert (found.config.num_layers, found.config.hidden_size, found.config.num_heads) == (6, 384, 12)
    assert set(found.tokenizer_files) == {"vocab.txt", "tokenizer_config.json"}
