"""A token model as a source: task, length, tokenizer and which inputs its graph has; all without TensorFlow."""

import json

import pytest

from exporters.request import ExportRequest
from exporters.sources.tokens import TokenSource
from models_tf.compress.settings import Compression
from models_tf.errors import InputError
from models_tf.training.state import Position, save_state
from support.sentence_folders import modules, write_cross_encoder, write_sentence_folder
from support.tiny_models import DOCUMENTS, LENGTH, write_checkpoint


@pytest.fixture(autouse=True)
def small_preset(monkeypatch):
    from models_tf.mobilebert import config

    monkeypatch.setitem(config.PRESETS, "opt", {**DOCUMENTS["mobilebert"], "max_position_embeddings": 512})


@pytest.mark.parametrize(
    ("task", "head", "labels"),
    [
        (None, "classification", 2),
        ("classification", "classification", 2),
        ("regression", "classification", 1),
        ("token-classification", "token-classification", 3),
        ("question-answering", "question-answering", 2),
        ("base", "base", 0),
    ],
)
def test_random_weights_have_the_head_of_the_task(task, head, labels):
    source = TokenSource.load(ExportRequest(model="mobilebert", random_init=True, task=task))
    assert (source.checkpoint.head.kind, source.checkpoint.head.num_labels) == (head, labels)
    assert source.task == (task or "classification")
    assert not source.checkpoint.trained
    assert source.tokenizer is None


def test_without_a_preset_random_weights_are_of_the_family_own_sizes(monkeypatch):
    from models_tf.bert import config

    monkeypatch.setitem(config.PRESETS, "base", DOCUMENTS["bert"])
    checkpoint = TokenSource.load(ExportRequest(model="bert", random_init=True)).checkpoint
    assert (checkpoint.model_name, checkpoint.config.hidden_size) == ("bert", DOCUMENTS["bert"]["hidden_size"])


def test_the_length_is_128_or_all_positions_when_they_are_fewer(tmp_path):
    assert TokenSource.load(ExportRequest(model="mobilebert", random_init=True)).max_seq_len == 128
    folder = write_checkpoint(tmp_path / "mine")
    assert TokenSource.load(ExportRequest(checkpoint=folder)).max_seq_len == LENGTH
    assert TokenSource.load(ExportRequest(checkpoint=folder, max_seq_len=7)).max_seq_len == 7
    with pytest.raises(InputError, match=rf"5 to {LENGTH}, the model's positions. Received: {LENGTH + 1}"):
        TokenSource.load(ExportRequest(checkpoint=folder, max_seq_len=LENGTH + 1))


@pytest.mark.parametrize("task", ["classification", "regression", "token-classification", "question-answering"])
def test_the_task_is_that_of_the_head_when_none_is_given(tmp_path, task):
    folder = write_checkpoint(tmp_path / "mine", task=task)
    assert TokenSource.load(ExportRequest(checkpoint=folder)).task == task
    assert TokenSource.load(ExportRequest(checkpoint=folder, task="base")).task == "base"


@pytest.mark.parametrize("encoder", ["", "0_Transformer"])
def test_a_cross_encoder_has_the_task_of_its_head(tmp_path, encoder):
    folder = write_cross_encoder(tmp_path / "ce", encoder=encoder)
    assert ExportRequest(checkpoint=folder).kind == "tokens"
    assert TokenSource.load(ExportRequest(checkpoint=folder)).task == "regression"
    embedding = TokenSource.load(ExportRequest(checkpoint=folder, task="embedding", pooling="cls"))
    assert embedding.checkpoint.head.pooling == "cls"


def test_the_encoder_of_a_folder_with_other_modules_is_exported_as_its_refusal_says(tmp_path):
    folder = write_sentence_folder(tmp_path / "st", encoder="0_Transformer")
    listed = modules("Transformer", "Pooling", "Dense", encoder="0_Transformer")
    (folder / "modules.json").write_text(json.dumps(listed))
    with pytest.raises(InputError, match=r"Received: Dense\. Export the encoder alone with --task base"):
        TokenSource.load(ExportRequest(checkpoint=folder))
    assert TokenSource.load(ExportRequest(checkpoint=folder, task="base")).task == "base"


@pytest.mark.parametrize(("of_tokenizer", "expected"), [(9, 9), (10**30, LENGTH)])
def test_an_embedding_has_the_length_of_its_tokenizer(tmp_path, of_tokenizer, expected):
    folder = write_sentence_folder(tmp_path / "st", settings={})
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": of_tokenizer}))
    assert TokenSource.load(ExportRequest(checkpoint=folder)).max_seq_len == expected


def test_a_task_that_the_labels_do_not_fit_is_refused(tmp_path):
    folder = write_checkpoint(tmp_path / "mine", task="regression")
    with pytest.raises(InputError, match=r"--task must be regression.* has 1 label\. Received: classification"):
        TokenSource.load(ExportRequest(checkpoint=folder, task="classification"))


@pytest.mark.parametrize(
    ("task", "rows", "one"),
    [
        ("classification", "text\tlabel\n1 2\tyes\n3\tno\n", True),
        ("classification", "sentence1\tsentence2\tlabel\n1 2\t3\tyes\n3\t4\tno\n", False),
        ("classification", None, False),
        ("token-classification", None, True),
        ("question-answering", None, False),
    ],
)
def test_the_segment_is_constant_only_where_task_or_data_say_so(tmp_path, task, rows, one):
    request = {"checkpoint": write_checkpoint(tmp_path / "mine", task=task), "quantize": "float32"}
    if rows:
        (tmp_path / "rows.tsv").write_text(rows)
        request["eval_data"] = tmp_path / "rows.tsv"
    source = TokenSource.load(ExportRequest(**request))
    assert source._one_segment(source.rows(calibrate=False)) is one


PAIRED, SINGLE = "sentence1\tsentence2\tlabel\n1 2\t3\tyes\n3\t4\tno\n", "text\tlabel\n1 2\tyes\n3\tno\n"


@pytest.mark.parametrize("model", ["bert", "distilbert", "mpnet", "deberta-v2"])
@pytest.mark.parametrize(
    ("task", "rows", "pairs"),
    [
        ("classification", SINGLE, False),
        ("classification", PAIRED, True),
        ("classification", None, None),
        ("base", SINGLE, False),
        ("base", None, None),
        ("token-classification", None, False),
        ("question-answering", None, True),
    ],
)
def test_task_and_data_say_whether_the_model_reads_two_texts(tmp_path, model, task, rows, pairs):
    request = {"checkpoint": write_checkpoint(tmp_path / "mine", model, task), "quantize": "float32"}
    calibrates = task == "base" and rows is not None  # a base model has nothing to evaluate
    if rows:
        (tmp_path / "rows.tsv").write_text(rows)
        request["calibration_data" if calibrates else "eval_data"] = tmp_path / "rows.tsv"
    source = TokenSource.load(ExportRequest(**{**request, "quantize": "int8" if calibrates else "float32"}))
    assert source._pairs(source.rows(calibrate=calibrates)) is pairs


def test_a_vocabulary_of_another_size_is_refused(tmp_path):
    folder = write_checkpoint(tmp_path / "mine")
    with (folder / "vocab.txt").open("a") as file:
        file.write("more\n")
    with pytest.raises(InputError, match=r"word embedding has rows, 60\. Received: 61"):
        TokenSource.load(ExportRequest(checkpoint=folder))


def test_what_the_user_should_know_of_a_checkpoint_is_in_its_notes(tmp_path):
    folder = write_checkpoint(tmp_path / "mine", "bert")
    assert TokenSource.load(ExportRequest(checkpoint=folder)).notes == ()
    save_state(folder, Position(epoch=2), {}, [], 5)
    few = Compression(prune_heads=0.01, head_importance="random")
    interrupted, useless = TokenSource.load(ExportRequest(checkpoint=folder, model="bert", compression=few)).notes
    assert "was interrupted after epoch 2 of 5" in interrupted
    assert useless.startswith("--prune-heads 0.01 removed no head: 0.01 of the ")


def test_loading_needs_no_tensorflow(tmp_path):
    import subprocess
    import sys

    folder = write_checkpoint(tmp_path / "mine")
    code = (
        "import sys; from exporters.request import ExportRequest; from exporters.sources import base as sources;"
        f"s = sources.load(ExportRequest(checkpoint={str(folder)!r}, quantize='float32')); s.rows(calibrate=False);"
        "print([m for m in ('tensorflow', 'tf_keras', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
