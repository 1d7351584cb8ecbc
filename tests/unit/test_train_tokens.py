"""Training of token models in one process, with the smallest encoders: it learns, resumes, saves, and refuses."""

import errno
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models_tf.checkpoints import atomic_files
from models_tf.checkpoints import encoder as checkpoint
from models_tf.encoder.batches import Predictor
from models_tf.encoder.model import Encoder
from models_tf.errors import InputError
from models_tf.spec import IDS, LOGITS, MASK, SEGMENTS
from models_tf.tasks import read_rows
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training.teacher_start import start_from_teacher
from support.byte_pairs import write_roberta
from support.checkpoint_folders import edit_document
from support.export_command import everything_under
from support.token_training import (
    BAD,
    COMMAND,
    FAST,
    GOOD,
    MOBILEBERT_SIZES,
    KilledAt,
    KilledError,
    Lines,
    sentence,
    weights_of,
    write_questions,
    write_tags,
    write_task,
)
from support.token_training import train as train_model


def write_tsv(path: Path, header: str, rows: list[tuple[Any, ...]]) -> Path:
    path.write_text("\n".join([header, *("\t".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_task(tmp_path_factory.mktemp("token_data"), random.Random(3))


def train(files: Path, output: Path, *, model: str = "mobilebert", **fields: Any) -> dict[str, Any]:
    return train_model(files, output, model=model, **fields)


@pytest.fixture(scope="module")
def trained(files: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    output = tmp_path_factory.mktemp("token_models") / "model"
    return output, train(files, output, **FAST, epochs=8)


@pytest.fixture(scope="module")
def teacher(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of another width, depth and number of heads; its labels have names, the files' are numbers."""
    output = tmp_path_factory.mktemp("token_teacher") / "bert"
    train(files, output, model="bert", sizes={"num_hidden_layers": 1}, **FAST, epochs=6)
    document = json.loads((output / "config.json").read_text())
    names = {"id2label": {"0": "negative", "1": "positive"}, "label2id": {"negative": 0, "positive": 1}}
    (output / "config.json").write_text(json.dumps({**document, **names}))
    return output


def test_training_from_scratch_learns_and_writes_a_folder_of_hugging_faces_form(
    trained: tuple[Path, dict[str, Any]],
) -> None:
    output, result = trained
    assert result["metric"] == "accuracy"
    assert result["dev_score"] > 90
    assert result["dev_rows"] == 64
    assert everything_under(output) == [
        "config.json", "model.safetensors", "training.json", "vocab.txt",
    ]  # fmt: skip
    document = json.loads((output / "training.json").read_text())
    assert document["dev_score"] == result["dev_score"]
    assert document["best_epoch"] == result["best_epoch"]
    assert document["command"] == COMMAND
    assert document["learning_rate"] == 0.01


def test_the_saved_folder_gives_the_score_that_was_reported(files: Path, trained: tuple[Path, dict[str, Any]]) -> None:
    """The folder alone: weights through PyTorch's names and layout, vocabulary, labels."""
    output, result = trained
    loaded = checkpoint.load(output)
    assert loaded.trained
    tokenizer = Tokenizer.from_folder(output)
    rows = read_rows("classification", files / "dev.tsv", tokenizer=tokenizer, labels=loaded.labels, max_len=12)
    model = Encoder(loaded.config, loaded.head, loaded.tensors)
    outputs = Predictor(model)(rows.inputs)
    assert rows.score(outputs).value == result["dev_score"]
    # Batches of any length, and the last layer for the first token only, are exact; so is padding, whose row is zero.
    whole = model(*(tf.constant(rows.inputs[name]) for name in (IDS, MASK, SEGMENTS)))[LOGITS]
    assert not rows.inputs[MASK].all(axis=1).any()
    np.testing.assert_allclose(outputs[LOGITS], whole.numpy(), rtol=1e-4, atol=1e-4)
    assert not loaded.tensors["word_embedding"][0].any()
    assert loaded.tensors["segment_embedding"][0].any()


def transfer(teacher: Path) -> dict[str, Any]:
    return {"teacher": [teacher], "transfer": "progressive", "transfer_epochs": 1, "epochs": 1, "learning_rate": 1e-3,
            "init_from_teacher": True, "batch_size": 32, "save_minutes": 0}  # fmt: skip


@pytest.fixture(scope="module")
def whole(files: Path, teacher: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    output = tmp_path_factory.mktemp("token_transfer") / "whole"
    return output, train(files, output, **transfer(teacher))


@pytest.mark.exhaustive
@pytest.mark.parametrize("batch", [2, 5, 8])  # inside the first layer's phase, the second's, and the task's epoch
def test_a_killed_training_ends_as_if_it_had_not_been_killed(
    files: Path,
    teacher: Path,
    whole: tuple[Path, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    batch: int,
) -> None:
    # The teacher's answers are saved, then every batch: 6 of the transfer, 6 of the task.
    with pytest.raises(KilledError):
        train(files, tmp_path / "cut", **transfer(teacher), progress=KilledAt(batch))
    assert (tmp_path / "cut" / "teacher_logits.npy").exists()
    # What was computed before is not computed again.
    monkeypatch.setattr(Predictor, "__call__", _dev_only(Predictor.__call__, 64))
    resumed = train(files, tmp_path / "cut", **transfer(teacher), resume=True)
    assert resumed["dev_score"] == whole[1]["dev_score"]
    wanted, found = weights_of(whole[0]), weights_of(tmp_path / "cut")
    for name, value in wanted.items():
        # Threads add in any order: float32 rounding, grown over 12 steps of 1e-3.
        np.testing.assert_allclose(found[name], value, atol=1e-4, err_msg=name)
    assert everything_under(tmp_path / "cut") == [
        "config.json", "model.safetensors", "training.json", "vocab.txt",
    ]  # fmt: skip


def _dev_only(original: Callable[..., Any], rows: int) -> Callable[..., Any]:
    def call(self: Predictor, inputs: dict[str, np.ndarray], **options: Any) -> Any:
        assert len(inputs[IDS]) == rows
        return original(self, inputs, **options)

    return call


@pytest.mark.slow
def test_a_students_labels_are_the_teachers_where_the_file_has_numbers(
    files: Path, teacher: Path, tmp_path: Path
) -> None:
    result = train(files, tmp_path / "m", teacher=[teacher], teacher_weight=0.9, **FAST, epochs=8)
    assert checkpoint.load(tmp_path / "m").labels == ["negative", "positive"]
    assert result["dev_score"] > 90


@pytest.mark.exhaustive
def test_a_joint_transfer_pulls_the_student_to_its_teacher(files: Path, teacher: Path, tmp_path: Path) -> None:
    """More epochs of it: a smaller distance. The task's one epoch has a learning rate of next to nothing."""
    losses = []
    for epochs in (1, 8):
        progress, weights = Lines(), ("mean=1", "learning_rate=1e-2")
        joint = {"transfer": "joint", "transfer_epochs": epochs, "transfer_overrides": weights}
        train(files, tmp_path / str(epochs), teacher=[teacher], **joint, epochs=1, progress=progress)
        line = next(line for line in progress.lines if line.startswith(f"epoch {epochs}/{epochs + 1} "))
        assert "train" not in line  # there is nothing to be right or wrong about
        losses.append(float(line.split("loss ")[1].split()[0]))
    assert losses[1] < 0.8 * losses[0]
    assert not any("transfer" in name for name in weights_of(tmp_path / "1"))


def test_embeddings_of_a_wider_teacher_are_factorized(files: Path, teacher: Path) -> None:
    loaded = checkpoint.load(teacher)
    generator = np.random.default_rng(0)
    tensors = {
        name: generator.standard_normal(value.shape).astype(np.float32) for name, value in loaded.tensors.items()
    }
    loaded = checkpoint.with_tensors(loaded, tensors)
    document = {"model_type": "mobilebert", **MOBILEBERT_SIZES, "embedding_size": 12, "vocab_size": 60}
    student = checkpoint.random_init("mobilebert", document, head="classification", labels=["a", "b"])
    tokenizer = Tokenizer.from_folder(files)
    inputs = tokenizer.encode(["good w1 w2", "bad w3"], max_len=6)
    found = start_from_teacher(student.tensors, student.config, loaded, inputs)
    # Rank 12 holds a table of 12 channels whole: word and position are the teacher's, without their mean.
    middle = found["embedding_projection.kernel"][12:24, :12]
    words = tensors["word_embedding"] - tensors["word_embedding"].mean(-1, keepdims=True)
    np.testing.assert_allclose(found["word_embedding"] @ middle, words, atol=1e-4)
    # Beside it the kernel stays as drawn.
    np.testing.assert_array_equal(
        found["embedding_projection.kernel"][:12], student.tensors["embedding_projection.kernel"][:12]
    )
    places = tensors["position_embedding"] - tensors["position_embedding"].mean(-1, keepdims=True)
    np.testing.assert_allclose(found["position_embedding"][:, :12], places[:24], atol=1e-5)
    assert not any(
        np.shares_memory(value, student.tensors[name]) for name, value in found.items() if "embedding" in name
    )


def test_embeddings_of_a_teacher_without_segments_leave_the_students_as_one(files: Path) -> None:
    document = {"model_type": "distilbert", "vocab_size": 60, "dim": 12, "n_layers": 1, "n_heads": 2, "hidden_dim": 8}
    teacher = checkpoint.random_init("distilbert", document, head="classification", labels=["a", "b"])
    student = checkpoint.random_init(
        "mobilebert",
        {"model_type": "mobilebert", **MOBILEBERT_SIZES, "embedding_size": 12, "vocab_size": 60},
        head="classification",
        labels=["a", "b"],
    )
    inputs = Tokenizer.from_folder(files).encode(["good w1 w2", "bad w3"], max_len=6)
    found = start_from_teacher(student.tensors, student.config, teacher, inputs)
    assert not found["segment_embedding"][0, :12].any()
    assert np.isfinite(found["embedding_norm.gamma"]).all()


def test_embeddings_of_equal_shape_are_copied(trained: tuple[Path, dict[str, Any]]) -> None:
    loaded = checkpoint.load(trained[0])
    document = {"model_type": "mobilebert", **MOBILEBERT_SIZES, "num_hidden_layers": 3, "vocab_size": 60}
    document["classifier_activation"] = False
    student = checkpoint.random_init("mobilebert", document, head="classification", labels=["a", "b"], seed=5)
    found = start_from_teacher(student.tensors, student.config, loaded, {})
    for name, value in found.items():
        source = loaded.tensors if "layers" not in name and "classifier" not in name else student.tensors
        np.testing.assert_array_equal(value, source[name], err_msg=name)


def test_fine_tuning_goes_on_from_a_checkpoint_and_keeps_its_head(
    files: Path, trained: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    result = train(files, tmp_path / "m", checkpoint=trained[0], epochs=1, learning_rate=1e-6)
    assert result["dev_score"] == trained[1]["dev_score"]
    for name, value in weights_of(tmp_path / "m").items():
        np.testing.assert_allclose(value, weights_of(trained[0])[name], atol=1e-4, err_msg=name)


def test_regression_of_pairs_learns(files: Path, trained: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    generator = random.Random(0)
    for name, count in (("train", 192), ("dev", 48)):
        sides = [(generator.randrange(2), generator.randrange(2)) for _ in range(count)]
        pairs = [(sentence(generator, a)[:12], sentence(generator, b)[:12], a + b) for a, b in sides]
        write_tsv(tmp_path / f"{name}.tsv", "sentence1\tsentence2\tscore", pairs)
    rows = {"train": tmp_path / "train.tsv", "dev": tmp_path / "dev.tsv", "task": "regression"}
    result = train(files, tmp_path / "m", **rows, **FAST, checkpoint=trained[0], epochs=8)
    assert result["metric"] == "pearson"
    assert result["dev_score"] > 60
    loaded = checkpoint.load(tmp_path / "m")
    assert loaded.head.num_labels == 1
    assert loaded.problem_type == "regression"


@pytest.mark.slow
def test_token_classification_learns(files: Path, tmp_path: Path) -> None:
    generator = random.Random(0)
    for name, count in (("train", 192), ("dev", 32)):
        lines = []
        for _ in range(count):
            words = sentence(generator, generator.randrange(2)).split()
            lines += [f"{word}\t{'B-x' if word in GOOD else 'B-y' if word in BAD else 'O'}" for word in words]
            lines.append("")
        (tmp_path / f"{name}.conll").write_text("\n".join(lines) + "\n")
    rows = {"train": tmp_path / "train.conll", "dev": tmp_path / "dev.conll", "task": "token-classification"}
    result = train(files, tmp_path / "m", **rows, **FAST, epochs=24, patience=24)
    assert result["metric"] == "entity_f1"
    assert result["dev_score"] > 90
    assert checkpoint.load(tmp_path / "m").labels == ["B-x", "B-y", "O"]


@pytest.mark.slow
def test_question_answering_learns_with_a_teacher_of_its_kind(files: Path, tmp_path: Path) -> None:
    write_questions(tmp_path, random.Random(0), train_rows=160, dev_rows=32)
    rows = {"train": tmp_path / "train.json", "dev": tmp_path / "dev.json", "task": "question-answering"}
    result = train(files, tmp_path / "m", **rows, **FAST, epochs=8)
    assert result["metric"] == "f1"
    assert result["dev_score"] > 80
    assert result["dev_exact_match"] > 80
    taught = train(files, tmp_path / "s", **rows, **FAST, epochs=1, teacher=[tmp_path / "m"])
    assert taught["dev_rows"] == 32


def test_a_full_disk_leaves_whole_files_only(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def fsync(descriptor: int) -> None:
        if len(written) == 5:  # manifest, vocabulary, weights, config, training.json: the state no longer fits
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(descriptor)

    monkeypatch.setattr(atomic_files.os, "fsync", fsync)
    with pytest.raises(InputError, match=r"No space left on device\. The best checkpoint so far is kept in"):
        train(files, tmp_path / "m", epochs=1)
    assert everything_under(tmp_path / "m") == [
        "config.json", "model.safetensors", "training.json", "vocab.txt",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_head_of_several_labels_learns_to_give_one_and_does_not_teach(files: Path, tmp_path: Path) -> None:
    train(files, tmp_path / "start", epochs=1)
    edit_document(tmp_path / "start", problem_type="multi_label_classification")
    train(files, tmp_path / "tuned", model="mobilebert", checkpoint=tmp_path / "start", epochs=1)
    assert checkpoint.load(tmp_path / "tuned").problem_type is None
    with pytest.raises(InputError, match="`teacher` must give a text one label, as the student does"):
        train(files, tmp_path / "taught", teacher=[tmp_path / "start"], epochs=1)
    assert not (tmp_path / "taught").exists()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"distortion": 0.1}, "`distortion` is for projection models (prado, sgnn)"),
        ({"multi_label": True, "task": "regression"}, "`multi_label` is for `task` classification"),
        ({"label_separator": ";"}, "`label_separator` needs `multi_label`"),
        ({"class_weights": "none"}, "`class_weights` is for projection models"),
        ({"transfer": "joint"}, "`transfer` needs `teacher`"),
        ({"transfer_epochs": 2}, "`transfer_epochs` needs `transfer`"),
        ({"transfer_overrides": ["mean=1"]}, "`transfer_overrides` needs `transfer`"),
        ({"init_from_teacher": True}, "`init_from_teacher` needs a teacher"),
        ({"temperature": 2.0}, "`temperature` needs `teacher`"),
        ({"vocab": Path("nowhere.txt")}, "a folder with a tokenizer. Received: nowhere.txt"),
        ({"max_seq_len": 25}, "`max_seq_len` must be at most the model's positions, 24"),
        ({"max_seq_len": 2}, "`max_seq_len` must be 4 to"),
        ({"overrides": ["hidden_sizes=3"]}, "Did you mean hidden_size?"),
        ({"overrides": ["vocab_size=3"]}, "it is counted in `vocab`"),
        ({"overrides": ["hidden_size=x"]}, "`overrides` hidden_size takes a whole number"),
        ({"preset": "big"}, "Unknown preset of mobilebert: expected opt, tiny, ib-bert"),
        ({"task": "regression", "checkpoint": Path("nowhere")}, "no such folder"),
        ({"model": "", "checkpoint": Path("google/electra")}, "of the hub needs `model`, one of mobilebert, bert"),
    ],
)
def test_a_field_of_a_token_model_that_cannot_work_is_one_line(
    files: Path, tmp_path: Path, fields: dict[str, Any], expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        train(files, tmp_path / "deep" / "out", **fields)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "deep").exists()


def test_fields_of_token_models_are_refused_for_projection_models(files: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`vocab` is for token models \(mobilebert.*with `model` prado"):
        train(files, tmp_path / "out", vocab=files, model="prado")


def test_a_new_model_without_a_vocabulary_is_refused(files: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="A new model needs `vocab`"):
        train(files, tmp_path / "out", vocab=None)


def test_a_teacher_that_does_not_fit_is_refused(
    files: Path, teacher: Path, trained: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    generator = random.Random(0)
    rows = [(sentence(generator, number % 2), "xyz"[number % 3]) for number in range(30)]
    write_tsv(tmp_path / "three.tsv", "sentence\tlabel", rows)
    other = {"train": tmp_path / "three.tsv", "dev": tmp_path / "three.tsv"}
    with pytest.raises(InputError, match=r"`teacher` must know the student's labels, x, y, z. Received: .*"):
        train(files, tmp_path / "out", **other, teacher=[teacher])
    with pytest.raises(InputError, match="`teacher` must be a model for token-classification"):
        train(files, tmp_path / "out", task="token-classification", teacher=[teacher])
    vocab = tmp_path / "vocab.txt"
    vocab.write_text((files / "vocab.txt").read_text() + "more\n")
    with pytest.raises(InputError, match=r"vocabulary, 61 tokens, for `transfer`. Received: .* with 60\. Remedy"):
        train(files, tmp_path / "out", vocab=vocab, teacher=[teacher], transfer="joint")
    vocab.write_text((files / "vocab.txt").read_text().replace("w48", "x48"))
    with pytest.raises(InputError, match=r"for `hidden_weight`. Received: .* with other tokens"):
        train(files, tmp_path / "out", vocab=vocab, teacher=[teacher], hidden_weight=1.0)
    with pytest.raises(
        InputError, match=r"`overrides` with `checkpoint` must be KEY=VALUE with hidden_dropout_prob or"
    ):
        train(files, tmp_path / "out", checkpoint=trained[0], overrides=["hidden_size=3"])
    assert not (tmp_path / "out").exists()


def test_a_new_tagger_of_byte_pairs_reads_words_with_their_space(tmp_path: Path) -> None:
    """A pretrained model knows a word without one as the end of another; one that has learnt so stays as it is."""
    transformers = pytest.importorskip("transformers", reason="compared with PyTorch's tokenizer")
    write_tags(write_task(tmp_path, random.Random(3), train_rows=20))
    base, one, two = write_roberta(tmp_path / "base"), tmp_path / "one", tmp_path / "two"
    rows: dict[str, Any] = {name: tmp_path / f"{name}.conll" for name in ("train", "dev")}
    rows.update(model="roberta", task="token-classification", max_seq_len=16, epochs=1)
    train(tmp_path, one, checkpoint=base, **rows)
    words = ["the", "fox"]
    row = Tokenizer.from_folder(one).encode_words([words], max_len=8).inputs["ids"][0]
    theirs = transformers.AutoTokenizer.from_pretrained(str(one))
    assert [*row[row != 1]] == theirs(words, is_split_into_words=True)["input_ids"]
    assert theirs.convert_ids_to_tokens(row)[1] == "\u0120the"

    settings = json.loads((one / "tokenizer_config.json").read_text())
    (one / "tokenizer_config.json").write_text(json.dumps({**settings, "add_prefix_space": False}))
    train(tmp_path, two, checkpoint=one, **rows)
    assert json.loads((two / "tokenizer_config.json").read_text())["add_prefix_space"] is False


def test_a_new_model_with_the_tokens_of_another_family_is_named(files: Path, tmp_path: Path) -> None:
    told = Lines()
    train(files, tmp_path / "out", model="roberta", epochs=1, progress=told)
    assert any("has wordpiece tokens, those of roberta are byte-pairs" in line for line in told.lines)


def test_a_table_is_no_file_of_tags(files: Path, tmp_path: Path) -> None:
    line = "must have a word and its tag in each line.*Received: a table with the header sentence, label"
    with pytest.raises(InputError, match=line):
        train(files, tmp_path / "out", task="token-classification")


@pytest.mark.parametrize("model_type", ["gpt2", "t5"])
def test_a_checkpoint_of_an_unknown_model_is_not_taken_for_a_prado(
    files: Path, tmp_path: Path, model_type: str
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    with pytest.raises(InputError, match=f"Received: {model_type}. {model_type} is not supported"):
        train(files, tmp_path / "out", model="", checkpoint=tmp_path)


def test_a_class_of_another_model_is_named_with_its_owner(tmp_path: Path) -> None:
    folder = write_roberta(tmp_path / "base")
    edit_document(folder, architectures=["BertForSequenceClassification"])
    for head in (None, "base"):
        with pytest.raises(
            InputError, match=r"of one model\. Received: roberta, and BertForSequenceClassification of bert"
        ):
            checkpoint.load(folder, head=head)
