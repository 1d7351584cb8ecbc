"""Token models learn several labels per text: the loss, the rows, what is written, and what is refused."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch

from exporters import AblateRequest, CompressRequest, TrainRequest, ablate, compress
from exporters import train as train_model
from models_tf.checkpoints import encoder as checkpoint
from models_tf.compress.settings import Compression
from models_tf.errors import InputError
from models_tf.spec import LOGITS
from models_tf.tasks.losses import task_loss, teacher_loss
from support.token_training import BERT_SIZES, FILLERS, SPECIAL, KilledAt, KilledError, overrides

# More labels than a text has tokens: targets are not cut to the length of a batch.
NAMES = tuple(f"topic {number}" for number in range(8))
SIZES = {**BERT_SIZES, "hidden_size": 36, "num_hidden_layers": 1, "initializer_range": 0.2}
MARKS = tuple(f"m{number}" for number in range(len(NAMES)))


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """A word of a text says that it has a label; some texts have none."""
    folder, generator = tmp_path_factory.mktemp("several"), random.Random(3)
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL, *MARKS, *FILLERS]) + "\n")
    for name, count in (("train", 640), ("dev", 96)):
        lines = ["text\tlabel"]
        for _ in range(count):
            held = sorted(generator.sample(range(len(NAMES)), generator.randrange(4)))
            words = [MARKS[number] for number in held] + generator.choices(FILLERS, k=generator.randrange(2))
            generator.shuffle(words)
            words = words or ["w0"]
            lines.append(f"{' '.join(words)}\t{'|'.join(NAMES[number] for number in held)}")
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return folder


def request(files: Path, output: Path, **changes: Any) -> TrainRequest:
    fields: dict[str, Any] = {
        "model": "bert", "train": files / "train.tsv", "dev": files / "dev.tsv", "output": output,
        "multi_label": True, "vocab": files / "vocab.txt", "max_seq_len": 16, "epochs": 12, "batch_size": 16,
        "learning_rate": 3e-3, "average": 0.8, "overrides": overrides(SIZES),
    }  # fmt: skip
    return TrainRequest(**(fields | changes))


@pytest.fixture(scope="module")
def trained(files: Path, tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("trained") / "mine"
    found = train_model(request(files, output))
    assert found.dev_score is not None
    assert found.dev_score > 95.0
    return output


def test_a_word_for_each_label_is_learned_and_the_folder_says_several(trained: Path) -> None:
    document = json.loads((trained / "config.json").read_text())
    assert document["problem_type"] == "multi_label_classification"
    assert list(document["label2id"]) == sorted(NAMES, key=lambda name: name)
    record = json.loads((trained / "training.json").read_text())
    assert record["metric"] == "micro_f1"
    assert record["multi_label"] is True
    assert "macro_f1" in record["dev_more"]


def test_the_loss_is_that_of_pytorch() -> None:
    generator = np.random.default_rng(0)
    logits = generator.normal(0, 3, (5, 7)).astype(np.float32)
    targets = (generator.random((5, 7)) < 0.4).astype(np.float32)
    found, hits = task_loss("classification", {LOGITS: tf.constant(logits)}, {LOGITS: tf.constant(targets)}, 0.0)
    wanted = torch.nn.BCEWithLogitsLoss(reduction="none")(torch.tensor(logits), torch.tensor(targets))
    np.testing.assert_allclose(found, wanted.sum(-1).mean().item(), rtol=1e-6)
    np.testing.assert_allclose(hits, ((logits > 0) == (targets > 0.5)).mean(-1).sum(), rtol=1e-6)


def test_a_teacher_is_learned_label_by_label() -> None:
    generator = np.random.default_rng(1)
    logits, soft = generator.normal(0, 3, (2, 5, 7)).astype(np.float32)
    found = teacher_loss(
        "classification",
        {LOGITS: tf.constant(logits)},
        {LOGITS: tf.constant(soft)},
        {LOGITS: tf.zeros((5, 7))},
        tf.ones((5, 3), tf.int32),
        temperature=2.0,
    )
    wanted = 1 / (1 + np.exp(-soft.astype(np.float64) / 2))
    given = 1 / (1 + np.exp(-logits.astype(np.float64) / 2))
    expected = -(wanted * np.log(given) + (1 - wanted) * np.log(1 - given)).sum(-1).mean() * 4
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_teacher_of_several_labels_teaches_a_student_of_several(files: Path, trained: Path, tmp_path: Path) -> None:
    found = train_model(request(files, tmp_path / "student", teacher=(trained,), teacher_weight=0.5, epochs=2))
    assert found.dev_score is not None
    assert checkpoint.load(tmp_path / "student").problem_type == "multi_label_classification"


def test_a_teacher_of_one_label_is_refused(files: Path, trained: Path, tmp_path: Path) -> None:
    document = json.loads((trained / "config.json").read_text())
    one = tmp_path / "one"
    one.mkdir()
    for path in trained.iterdir():
        if path.is_file():
            (one / path.name).write_bytes(path.read_bytes())
    (one / "config.json").write_text(json.dumps({**document, "problem_type": "single_label_classification"}))
    with pytest.raises(InputError, match=r"`teacher` must give a text several labels, as the student does\. .*, one\."):
        train_model(request(files, tmp_path / "student", teacher=(one,)))
    assert not (tmp_path / "student").exists()


def test_a_stopped_training_ends_with_the_same_weights(files: Path, tmp_path: Path) -> None:
    train_model(request(files, tmp_path / "whole", epochs=2))
    with pytest.raises(KilledError):
        train_model(request(files, tmp_path / "killed", epochs=2, save_minutes=1e-6), progress=KilledAt(17))
    train_model(request(files, tmp_path / "killed", epochs=2, save_minutes=1e-6, resume=True))
    whole, killed = (checkpoint.load(tmp_path / name).tensors for name in ("whole", "killed"))
    assert all(np.array_equal(whole[name], killed[name]) for name in whole)


SGNN: dict[str, Any] = {
    "model": "sgnn", "vocab": None, "overrides": ("hidden_size=4", "projection.feature_size=16")
}  # fmt: skip


@pytest.mark.parametrize("model", [{}, SGNN], ids=["bert", "sgnn"])
def test_a_file_without_labels_is_one_line(files: Path, tmp_path: Path, model: dict[str, Any]) -> None:
    (tmp_path / "train.tsv").write_text("text\tlabel\nw1\t\nw2\t|\n")
    with pytest.raises(InputError, match=r"train.tsv must have a row with a label\. Received: none\.$"):
        train_model(request(files, tmp_path / "out", train=tmp_path / "train.tsv", **model))
    assert not (tmp_path / "out").exists()


def test_one_label_that_a_text_has_or_not_is_learned_taught_and_pruned(files: Path, tmp_path: Path) -> None:
    for name in ("train", "dev"):
        lines = (files / f"{name}.tsv").read_text().splitlines()[1:]
        rows = [
            f"{text}\t{'first' if 'm0' in text.split() else ''}" for text, _, _ in (li.partition("\t") for li in lines)
        ]
        (tmp_path / f"{name}.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n")
    rows_of: dict[str, Any] = {"train": tmp_path / "train.tsv", "dev": tmp_path / "dev.tsv"}
    found = train_model(request(files, tmp_path / "bert", **rows_of))
    assert found.dev_score is not None
    assert found.dev_score > 95.0
    loaded = checkpoint.load(tmp_path / "bert")
    assert (loaded.labels, loaded.problem_type) == (["first"], "multi_label_classification")
    taught: dict[str, Any] = {**rows_of, "teacher": (tmp_path / "bert",), "epochs": 1}
    train_model(request(files, tmp_path / "student", **taught))
    train_model(request(files, tmp_path / "sgnn", **taught, **SGNN))
    compress(
        CompressRequest(
            checkpoint=tmp_path / "bert",
            output=tmp_path / "small",
            compression=Compression(prune_heads=1 / 3),
            data=tmp_path / "train.tsv",
        )
    )
    assert checkpoint.load(tmp_path / "small").labels == ["first"]


def test_an_unknown_label_of_dev_is_named(files: Path, tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("text\tlabel\nw1\ttopic 1|nothing\nw2\ttopic 2\n")
    with pytest.raises(InputError, match="nothing"):
        train_model(request(files, tmp_path / "out", dev=tmp_path / "dev.tsv"))


def test_heads_are_pruned_by_importance(files: Path, trained: Path, tmp_path: Path) -> None:
    made = CompressRequest(
        checkpoint=trained,
        output=tmp_path / "small",
        compression=Compression(prune_heads=1 / 3),
        data=files / "train.tsv",
    )
    compress(made)
    assert checkpoint.load(tmp_path / "small").config.kept_heads


def test_the_micro_f1_without_each_head_is_measured(files: Path, trained: Path) -> None:
    found = ablate(AblateRequest(checkpoint=trained, data=files / "train.tsv", rows=64, what="heads")).to_dict()
    assert found["metric"] == "micro_f1"
    assert min(change for layer in found["without_head"]["change"] for change in layer) < 0
