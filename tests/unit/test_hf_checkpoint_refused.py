"""Checkpoints that do not fit: every tensor, shape, config and folder that is wrong is named in one line."""

import numpy as np
import pytest

from models_tf.checkpoints.encoder import load, save
from models_tf.checkpoints.folder import STATE_FILE
from support.checkpoint_folders import edit_document, edit_tensors, refused
from support.tiny_models import tiny_encoder


@pytest.fixture
def folder(tmp_path):
    save(tmp_path / "tiny", tiny_encoder())
    return tmp_path / "tiny"


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


def test_a_number_of_heads_that_does_not_divide_the_width_is_named_by_its_keys(folder):
    edit_document(folder, num_attention_heads=3)
    message = refused(folder)
    assert "`intra_bottleneck_size`, the width of a layer, must be a multiple of `num_attention_heads`" in message


def test_a_folder_without_config_is_refused(folder):
    (folder / "config.json").unlink()
    assert f"Checkpoint folder {folder} lacks config.json: give the folder that" in refused(folder)
    (folder / STATE_FILE).write_bytes(b"")
    assert "lacks config.json: its training was stopped" in refused(folder)


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
        ({"model_type": "xlnet"}, '"xlnet"'),
        ({"model_type": "bert", "architectures": ["BertModel"]}, "lack tensor"),
        ({"model_type": 5}, "5"),
        ({"model_type": ["mobilebert"]}, "mobilebert"),
        ({"model_type": None}, "null"),
        ({"model_type": "prado"}, '"prado"'),
        ({"model_type": ...}, "no `model_type`"),
        ({"architectures": ["MobileBertForMultipleChoice"]}, "MobileBertForMultipleChoice"),
        (
            {"architectures": ["BertForSequenceClassification"]},
            "must be of one model. Received: mobilebert, and BertFor",
        ),
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
