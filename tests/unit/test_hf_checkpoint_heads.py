"""Heads of checkpoints: which one is read, which are left out, and when a new one is drawn."""

import numpy as np
import pytest

from models_tf.checkpoints.encoder import load, open_checkpoint, save
from models_tf.encoder.heads import Head
from models_tf.errors import InputError
from support.checkpoint_folders import assert_same, edit_document, edit_tensors, refused
from support.tiny_models import RELATIVES, tiny_encoder


@pytest.fixture
def folder(tmp_path):
    save(tmp_path / "tiny", tiny_encoder())
    return tmp_path / "tiny"


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
    line = refused(folder)
    assert "must name the class of the model in `architectures`. Received: none, and weights of a head." in line
    assert "give --task classification or token-classification." in line


@pytest.mark.parametrize("model", ["mobilebert", "bert", *RELATIVES])
@pytest.mark.parametrize("task", ["classification", "token-classification", "question-answering"])
def test_a_head_without_a_name_is_left_out_where_it_is_not_read(model, task, tmp_path):
    made = tiny_encoder(model, task)
    save(tmp_path, made)
    edit_document(tmp_path, architectures=...)
    assert task in refused(tmp_path)
    assert load(tmp_path, head="base").head == Head(kind="base")
    fresh = load(tmp_path, head="classification", new_head_labels=["a", "b"])
    assert {"classifier.kernel", "classifier.bias"} <= set(fresh.new_tensors)


# Classes of `transformers` that are not listed, and what stands on their encoders.
NOT_LISTED = {
    "bert": ("BertForMultipleChoice", {"classifier.weight": (1, 24), "classifier.bias": (1,)}),
    "roberta": ("RobertaForCausalLM", {"lm_head.bias": (60,), "lm_head.layer_norm.gamma": (24,)}),
    "electra": ("ElectraForMultipleChoice", {"sequence_summary.summary.weight": (24, 24)}),
}


@pytest.fixture(params=NOT_LISTED)
def not_listed(request, tmp_path):
    """A checkpoint of such a class, its encoder and the class."""
    name, head = NOT_LISTED[request.param]
    made = tiny_encoder(request.param, "base")
    save(tmp_path, made)

    def on_top(tensors):
        for other in list(tensors):
            tensors[f"{request.param}.{other}"] = tensors.pop(other)
        tensors.update({key: np.ones(shape, np.float32) for key, shape in head.items()})

    edit_tensors(tmp_path, on_top)
    edit_document(tmp_path, architectures=[name])
    return tmp_path, made, name


def test_a_class_that_is_not_listed_gives_its_encoder_alone(not_listed):
    folder, made, name = not_listed
    for asked in (None, "classification"):
        line = refused(folder, head=asked)
        assert f"Received: {name}. Export its encoder alone with --task base, or train a new head" in line
        assert "ForTokenClassification" in line
    assert_same(load(folder, head="base"), made)
    assert load(folder, head="embedding").head.kind == "embedding"
    assert open_checkpoint(folder).head_kind == "base"
    fresh = load(folder, head="classification", new_head_labels=["a", "b"])
    assert {"classifier.kernel", "classifier.bias"} <= set(fresh.new_tensors)
    np.testing.assert_array_equal(fresh.tensors["layers.1.query.kernel"], made.tensors["layers.1.query.kernel"])


def test_nothing_of_the_encoder_of_such_a_class_stays_unread(not_listed):
    folder, made, _ = not_listed
    name = f"{made.model_name}.encoder.adapter.weight"
    edit_tensors(folder, lambda tensors: tensors.update({name: np.ones(3, np.float32)}))
    assert f"tensor {name} is not part of the model" in refused(folder, head="base")


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


def test_an_absent_pooler_is_drawn_for_training_and_a_base_model_does_without(tmp_path):
    save(tmp_path, tiny_encoder(task="question-answering", classifier_activation=True))
    found = load(tmp_path, head="classification", new_head_labels=["good", "bad"])
    assert found.new_tensors == ("pooler.kernel", "pooler.bias", "classifier.kernel", "classifier.bias")
    base = load(tmp_path, head="base")
    assert not base.config.pools_base
    assert "pooler.kernel" not in base.tensors
    # Half of a pooler is a damaged file.
    edit_tensors(tmp_path, lambda tensors: tensors.update({"mobilebert.pooler.dense.bias": np.ones(24, np.float32)}))
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
