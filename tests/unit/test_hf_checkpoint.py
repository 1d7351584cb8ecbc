import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from models_tf import registry
from models_tf.checkpoints import atomic_files
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.encoder import load, open_checkpoint, random_init, save
from models_tf.encoder.heads import HEADS, Head
from models_tf.errors import InputError
from support.tiny_models import BERT, MOBILEBERT, MOBILEBERTS, VOCABULARY, tiny_encoder

MODELS = registry.names(registry.TOKENS)
WEIGHTS = os.environ.get("EXPORT_MOBILE_DATA", "") and Path(os.environ["EXPORT_MOBILE_DATA"]).parent / "weights"


def refused(folder, **options):
    with pytest.raises(InputError) as caught:
        load(folder, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def edit_document(folder, **changes):
    path = folder / "config.json"
    document = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in document.items() if value is not ...}))


def edit_tensors(folder, change):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def assert_same(one, other):
    assert (one.model_name, one.config, one.head, one.labels) == (
        other.model_name,
        other.config,
        other.head,
        other.labels,
    )
    assert list(one.tensors) == list(other.tensors) == list(one.config.shapes(one.head))
    for name, value in one.tensors.items():
        np.testing.assert_array_equal(value, other.tensors[name], err_msg=name)


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


@pytest.mark.parametrize("architecture", ["ForPreTraining", "ForMaskedLM", "ForNextSentencePrediction"])
@pytest.mark.parametrize(("model", "word"), [("mobilebert", "MobileBert"), ("bert", "Bert")])
def test_the_heads_of_pretraining_are_left_out(model, word, architecture, tmp_path):
    made = tiny_encoder(model, "base")
    save(tmp_path, made)

    def pretraining(tensors):
        for name in list(tensors):
            tensors[f"{model}.{name}"] = tensors.pop(name)
        tensors["cls.predictions.bias"] = np.ones(60, np.float32)
        tensors["cls.predictions.transform.LayerNorm.gamma"] = np.ones(24, np.float32)
        tensors["cls.seq_relationship.weight"] = np.ones((2, 24), np.float32)

    edit_tensors(tmp_path, pretraining)
    edit_document(tmp_path, architectures=[word + architecture])
    assert_same(load(tmp_path), made)


def test_a_config_without_architectures_takes_the_head_that_is_asked_for(folder):
    edit_document(folder, architectures=...)
    assert_same(load(folder, head="classification"), tiny_encoder())
    assert "tensor classifier." in refused(folder)


def test_a_head_can_be_left_out(folder):
    found = load(folder, head="base")
    assert found.head == Head(kind="base")
    assert found.labels == []
    assert "id2label" not in found.document
    assert "classifier.kernel" not in found.tensors


def test_another_head_than_the_checkpoints_is_refused(folder, tmp_path):
    assert "a question-answering model is asked for. Received: a classification model" in refused(
        folder, head="question-answering"
    )
    save(tmp_path / "base", tiny_encoder(task="base"))
    assert "Received: a base model; fine-tune it with `export-mobile train`" in refused(
        tmp_path / "base", head="classification"
    )
    assert "Unknown head" in refused(folder, head="dancing")


def test_a_new_head_is_drawn_for_training(tmp_path):
    made = tiny_encoder(task="base", classifier_activation=True)
    save(tmp_path, made)
    found = load(tmp_path, head="classification", new_head_labels=["good", "bad"], seed=3)
    assert found.new_tensors == ("classifier.kernel", "classifier.bias")
    assert found.labels == ["good", "bad"]
    np.testing.assert_array_equal(found.tensors["pooler.kernel"], made.tensors["pooler.kernel"])
    assert 0 < np.abs(found.tensors["classifier.kernel"]).max() <= 2 * 0.02
    again = load(tmp_path, head="classification", new_head_labels=["good", "bad"], seed=3)
    assert_same(found, again)


def test_an_absent_pooler_is_drawn_for_training_only(tmp_path):
    save(tmp_path, tiny_encoder(task="question-answering", classifier_activation=True))
    found = load(tmp_path, head="classification", new_head_labels=["good", "bad"])
    assert found.new_tensors == ("pooler.kernel", "pooler.bias", "classifier.kernel", "classifier.bias")
    assert "lack tensor mobilebert.pooler.dense.weight" in refused(tmp_path, head="base")


def test_a_trained_head_for_the_same_labels_is_kept(folder):
    same = load(folder, head="classification", new_head_labels=["no", "yes", "perhaps"])
    assert_same(same, tiny_encoder())
    assert same.new_tensors == ()
    other = load(folder, head="classification", new_head_labels=["yes", "no", "perhaps"])
    assert other.new_tensors == ("classifier.kernel", "classifier.bias")
    tagger = load(folder, head="token-classification", new_head_labels=["O", "B-PER"])
    assert tagger.head == Head(kind="token-classification", num_labels=2)
    assert "pooler.kernel" not in tagger.tensors


def test_a_question_head_is_drawn_without_labels(folder):
    found = load(folder, head="question-answering", new_head_labels=[])
    assert found.tensors["classifier.kernel"].shape == (24, 2)
    assert found.labels == []


def test_a_new_head_forgets_what_the_old_one_was_for(folder):
    edit_document(folder, problem_type="multi_label_classification")
    assert load(folder).problem_type == "multi_label_classification"
    assert load(folder, head="classification", new_head_labels=["a", "b"]).problem_type is None


def test_new_labels_need_a_head(folder):
    with pytest.raises(ValueError, match="needs a head"):
        load(folder, new_head_labels=["a"])


@pytest.mark.parametrize("labels", [[], ["a", "a"], ["a", "b\n"], ["a", ""]])
def test_new_labels_that_cannot_be_stored_are_refused(labels, folder):
    with pytest.raises(InputError, match=r"abels"):
        load(folder, head="classification", new_head_labels=labels)


def test_a_pooler_stored_with_a_tagger_is_left_out(tmp_path):
    made = tiny_encoder(task="token-classification")
    save(tmp_path, made)
    pooler = {f"mobilebert.pooler.dense.{name}": np.ones((24,), np.float32) for name in ("weight", "bias")}
    edit_tensors(tmp_path, lambda tensors: tensors.update(pooler))
    assert_same(load(tmp_path), made)


def test_a_missing_tensor_is_named(folder):
    name = "mobilebert.encoder.layer.1.attention.self.key.bias"
    edit_tensors(folder, lambda tensors: tensors.pop(name))
    message = refused(folder)
    assert f"lack tensor {name}" in message
    assert str(folder) in message


def test_an_unread_tensor_is_named(folder):
    edit_tensors(folder, lambda tensors: tensors.update({"mobilebert.adapter": np.ones(2, np.float32)}))
    message = refused(folder)
    assert "model.safetensors: tensor mobilebert.adapter is not part of the model" in message


def test_more_layers_in_the_file_than_in_the_config_are_refused(folder):
    edit_document(folder, num_hidden_layers=1)
    assert "mobilebert.encoder.layer.1." in refused(folder)
    edit_document(folder, num_hidden_layers=3)
    assert "lack tensor mobilebert.encoder.layer.2." in refused(folder)


def test_the_head_of_pretraining_in_a_classifier_is_an_unread_tensor(folder):
    edit_tensors(folder, lambda tensors: tensors.update({"cls.predictions.bias": np.ones(60, np.float32)}))
    assert "tensor cls.predictions.bias is not part" in refused(folder)


def test_a_wrong_shape_is_named_with_both_shapes(folder):
    edit_document(folder, vocab_size=61)
    message = refused(folder)
    assert "mobilebert.embeddings.word_embeddings.weight must have shape (61, 12)" in message
    assert "Received: (60, 12)" in message
    assert "model.safetensors" in message


def test_a_kernel_that_is_not_transposed_is_a_wrong_shape(folder):
    name = "mobilebert.encoder.layer.0.attention.self.value.weight"
    edit_tensors(folder, lambda tensors: tensors.update({name: np.ascontiguousarray(tensors[name].T)}))
    assert f"{name} must have shape (16, 24), as config.json says. Received: (24, 16)" in refused(folder)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_tensor_that_is_not_finite_is_named(value, folder):
    name = "mobilebert.embeddings.position_embeddings.weight"
    edit_tensors(folder, lambda tensors: tensors[name].__setitem__((3, 5), value))
    assert f"tensor {name} must be finite" in refused(folder)


def test_a_double_beyond_float32_is_not_finite(folder):
    edit_tensors(folder, lambda tensors: tensors.update({"classifier.bias": np.array([0.0, 1e300, 0.0])}))
    assert "tensor classifier.bias must be finite" in refused(folder)


def test_a_tensor_of_integers_is_refused(folder):
    edit_tensors(folder, lambda tensors: tensors.update({"classifier.bias": np.arange(3)}))
    assert "tensor classifier.bias must be of type F64, F32, F16, BF16. Received: I64" in refused(folder)


def test_a_folder_without_config_is_refused(folder):
    (folder / "config.json").unlink()
    assert f"Checkpoint folder {folder} lacks config.json" in refused(folder)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "must be JSON"),
        (b"{", "must be JSON"),
        (b"\xff\xfe{}", "must be JSON"),
        (b"[" * 100_000, "must be JSON"),
        (b"[]", "must hold a JSON object"),
        (b"null", "must hold a JSON object"),
    ],
)
def test_a_config_that_is_no_object_is_refused(content, words, folder):
    (folder / "config.json").write_bytes(content)
    assert words in refused(folder)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "distilbert"}, '"distilbert"'),
        ({"model_type": "bert", "architectures": ["BertModel"]}, "lack tensor"),
        ({"model_type": 5}, "5"),
        ({"model_type": ["mobilebert"]}, "mobilebert"),
        ({"model_type": None}, "null"),
        ({"model_type": "prado"}, '"prado"'),
        ({"model_type": ...}, "no `model_type`"),
        ({"architectures": ["MobileBertForMultipleChoice"]}, "MobileBertForMultipleChoice"),
        ({"architectures": ["BertForSequenceClassification"]}, "BertForSequenceClassification"),
        ({"architectures": ["MobileBertModel", "MobileBertForQuestionAnswering"]}, "must name one head"),
        ({"architectures": "MobileBertModel"}, "must be a list"),
        ({"architectures": [3]}, "must be a list"),
    ],
)
def test_a_config_of_another_architecture_is_refused(changes, words, folder):
    edit_document(folder, **changes)
    message = refused(folder)
    assert words in message
    if "lack" not in words and "must" not in words:
        assert "config of another architecture" in message


def test_a_checkpoint_of_another_model_than_asked_for_is_refused(folder):
    assert 'expected `model_type` bert. Received: "mobilebert"' in refused(folder, model="bert")
    assert load(folder, model="mobilebert").model_name == "mobilebert"
    edit_document(folder, model_type=...)
    assert load(folder, model="mobilebert").model_name == "mobilebert"


def test_a_checkpoint_of_a_projection_model_is_another_architecture(tmp_path):
    (tmp_path / "config.json").write_text('{"format": "export-mobile/1", "model": "prado", "config": {}}')
    assert "config of another architecture" in refused(tmp_path)


def test_labels_that_do_not_fit_the_weights_are_a_wrong_shape(folder):
    edit_document(folder, id2label={"0": "a", "1": "b"}, label2id=...)
    assert "classifier.weight must have shape (2, 24), as config.json says. Received: (3, 24)" in refused(folder)


def test_a_question_model_with_more_than_start_and_end_is_refused(tmp_path):
    save(tmp_path, tiny_encoder(task="question-answering"))
    edit_document(tmp_path, id2label={"0": "a", "1": "b", "2": "c"})
    assert "for start and end" in refused(tmp_path)


@pytest.mark.parametrize("source", ["no-such-folder", "/no/such/folder", "a/b/c", "../x/y", "", "a b/c"])
def test_a_folder_that_is_not_there_is_refused(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = refused(source)
    assert "no such folder" in message or "lacks config.json" in message


def test_a_file_in_place_of_the_folder_is_refused(folder):
    assert "(a file)" in refused(folder / "config.json")


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


def test_a_head_that_a_model_cannot_have_is_refused_or_left_out(tmp_path):
    made = tiny_encoder("bert")
    save(tmp_path, made)
    assert "tagger is for token-classification or base. Received: classification" in refused(tmp_path, model="tagger")
    opened = open_checkpoint(tmp_path, model="tagger")
    assert (opened.head_kind, opened.labels) == ("base", [])
    found = opened.read(head="base")
    assert (found.model_name, found.head, found.labels) == ("tagger", Head(kind="base"), [])
    np.testing.assert_array_equal(found.tensors["word_embedding"], made.tensors["word_embedding"])
    whole = open_checkpoint(tmp_path)  # a head that it can have stays
    assert (whole.head_kind, whole.labels) == (made.head.kind, made.labels)


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
