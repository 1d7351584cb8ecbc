"""A teacher's labels: the student's, in any order, and as many for a text."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from models_tf.checkpoints import projection as checkpoint
from models_tf.errors import InputError
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.sgnn.config import SgnnConfig
from models_tf.sgnn.model import Sgnn
from models_tf.training.teacher import CheckpointTeacher
from models_tf.training.teacher_labels import label_order
from support.checkpoint_folders import edit_document
from support.token_training import train, write_task


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_task(tmp_path_factory.mktemp("teacher_labels"), random.Random(5), train_rows=32)
    for name in ("train", "dev"):
        lines = (folder / f"{name}.tsv").read_text().splitlines()
        scores = [line.replace("\t0", "\t0.25").replace("\t1", "\t0.75") for line in lines[1:]]
        (folder / f"{name}_scores.tsv").write_text("\n".join(["sentence\tscore", *scores]) + "\n")
    return folder


def sgnn(folder: Path, labels: list[str], *, multi_label: bool = False) -> Path:
    config = SgnnConfig(
        num_labels=len(labels),
        multi_label=multi_label,
        hidden_size=4,
        projection=ProjectionConfig(feature_size=16, presence_feature=True),
    )
    weights = checkpoint.tensors(Sgnn(config))
    checkpoint.save(
        folder, checkpoint.ProjectionCheckpoint(model_name="sgnn", config=config, labels=labels, weights=weights)
    )
    return folder


def test_a_projection_teachers_answers_come_in_the_students_order(tmp_path: Path) -> None:
    labels, texts = ["pos", "neutral", "neg"], tf.constant([b"play jazz", b"rain"])

    def answers(order: list[str]) -> np.ndarray:
        return CheckpointTeacher(folder, order, 1.0, False).probabilities(texts, tf.constant([0, 1])).numpy()

    folder = sgnn(tmp_path / "t", labels)
    own, other = answers(labels), answers(["neg", "pos", "neutral"])
    assert len({*own[0].tolist()}) == 3
    # A softmax adds up its labels in another order: one rounding of float32.
    np.testing.assert_allclose(other, own[:, [2, 0, 1]], rtol=1e-6)


@pytest.mark.parametrize("multi_label", [False, True])
def test_a_projection_teacher_gives_as_many_labels_as_its_student(
    files: Path, tmp_path: Path, multi_label: bool
) -> None:
    teacher = sgnn(tmp_path / "teacher", ["0", "1"], multi_label=not multi_label)
    wanted, received = ("several labels", "one") if multi_label else ("one label", "several")
    with pytest.raises(InputError, match=rf"^`teacher` must give a text {wanted}, as the .* Received: .*, {received}."):
        train(files, tmp_path / "out", model="sgnn", teacher=[teacher], multi_label=multi_label)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("known", "labels", "order"),
    [
        (["a", "b"], ["b", "a"], [1, 0]),
        (["negative", "positive"], ["1", "0"], [1, 0]),
        (["1", "0"], ["0", "1"], [1, 0]),  # names, though they are numbers
        ([], [], []),
    ],
)
def test_labels_are_matched_by_name_or_by_number(known: list[str], labels: list[str], order: list[int]) -> None:
    assert label_order(Path("t"), known, labels, several=False, multi_label=False) == order


@pytest.mark.parametrize("known", [["a"], ["a", "b", "c"], ["a", "c"]])
def test_a_label_too_many_or_too_few_is_one_line(known: list[str]) -> None:
    with pytest.raises(
        InputError, match=r"^--teacher must know the student's labels, a, b. Received: t with a.*alike\.$"
    ):
        label_order(Path("t"), known, ["a", "b"], several=True, multi_label=True)


def test_the_name_of_a_regressions_number_does_not_matter(files: Path, tmp_path: Path) -> None:
    rows: dict[str, Any] = {"train": files / "train_scores.tsv", "dev": files / "dev_scores.tsv", "task": "regression"}
    for name in ("start", "teacher"):
        train(files, tmp_path / name, **rows, epochs=1)
    edit_document(tmp_path / "teacher", id2label={"0": "similarity"}, label2id={"similarity": 0})
    fitted = train(
        files, tmp_path / "out", **rows, checkpoint=tmp_path / "start", teacher=[tmp_path / "teacher"], epochs=1
    )
    assert fitted["epochs"] == 1
