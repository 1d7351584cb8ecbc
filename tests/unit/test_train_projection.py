"""Training of a small PRADO in one process: it learns, from labels and from teachers, repeats, and stops in time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from models_tf.errors import InputError
from models_tf.folders import manifest
from models_tf.tasks import several_labels
from models_tf.training.running_share import RunningShare
from support.projection_training import train, write_task

QUICK: dict[str, Any] = {"epochs": 6, "batch_size": 16, "average": 0.9}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_task(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def trained(files: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    output = tmp_path_factory.mktemp("trained") / "model"
    return output, train(files, output, **QUICK)


def test_training_learns_and_writes_a_checkpoint(trained: tuple[Path, dict[str, Any]]) -> None:
    output, result = trained
    assert result["dev_accuracy"] > 0.95
    assert result["dev_rows"] == 100
    assert result["dev_accuracy_with_typos"] <= result["dev_accuracy"]
    names = sorted(path.name for path in output.iterdir())
    assert names == [manifest.GROWING, "config.json", "labels.txt", "model.safetensors"]
    assert (output / "labels.txt").read_text().split() == ["music", "weather"]


def test_a_finished_training_cannot_be_resumed(files: Path, trained: tuple[Path, dict[str, Any]]) -> None:
    with pytest.raises(InputError, match=r"Received: .*model, where one has finished\."):
        train(files, trained[0], resume=True, **QUICK)


def test_the_same_seed_gives_the_same_first_epoch(files: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        train(files, tmp_path / name, epochs=1, seed=3)
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("a", "b"))
    for name, value in first.items():
        # Threads add in any order: float32 rounding, grown over a few steps.
        np.testing.assert_allclose(value, second[name], atol=1e-4)


def test_multi_label_trains(tmp_path: Path) -> None:
    rows = ["text\tlabel", *(["play rain\tm|w", "play\tm", "rain\tw", "nothing\t|"] * 20)]
    for name in ("train", "dev"):
        (tmp_path / f"{name}.tsv").write_text("\n".join(rows) + "\n")
    settings = {"epochs": 12, "batch_size": 8, "class_weights": "balanced", "average": 0.5}
    result = train(tmp_path, tmp_path / "out", multi_label=True, **settings)
    assert result["metric"] == "micro_f1"  # a model that gives no label at all would have half of the decisions right
    assert result["dev_score"] > 90.0


def test_the_dev_score_of_several_labels_is_that_of_the_files(tmp_path: Path) -> None:
    """Micro F1 of the rows in parts, and a standard error like that of resampled rows."""
    generator = np.random.default_rng(0)
    targets = (generator.random((700, 9)) < 0.2).astype(np.float32)
    logits = 2 * targets - 1 + generator.normal(0, 1.2, targets.shape)
    found, whole = RunningShare(), several_labels.score(logits, targets, threshold=0.5)
    for start in range(0, 700, 256):
        found.add(*several_labels.f1_parts(logits[start : start + 256], targets[start : start + 256], threshold=0.5))
    assert found.rows == 700
    assert 100 * found.share == pytest.approx(whole.value)
    assert 100 * found.standard_error == pytest.approx(whole.standard_error, rel=0.15)  # from 200 resamples


def test_a_running_share_of_rows_that_are_right_is_accuracy() -> None:
    found = RunningShare()
    assert (found.share, found.standard_error) == (0.0, 0.0)
    found.add(np.array([True, False, True, True]))
    found.add(np.array([True]))
    assert (found.share, found.rows) == (0.8, 5)
    assert found.standard_error == pytest.approx(np.sqrt(0.8 * 0.2 / 5))


@pytest.fixture(scope="module")
def swapped(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train rows with the wrong label each: only a teacher can give the right one."""
    folder = tmp_path_factory.mktemp("swapped")
    other = {"music": "weather", "weather": "music"}
    header, *rows = (files / "train.tsv").read_text().splitlines()
    pairs = [row.split("\t") for row in rows]
    lines = [header, *(f"{text}\t{other[label]}" for text, label in pairs)]
    (folder / "train.tsv").write_text("\n".join(lines) + "\n")
    (folder / "dev.tsv").write_text((files / "dev.tsv").read_text())
    np.save(folder / "logits.npy", np.array([[5.0, -5.0] if label == "music" else [-5.0, 5.0] for _, label in pairs]))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["teacher", "teacher_logits"])
def test_a_student_follows_its_teacher_against_the_labels(
    kind: str, swapped: Path, trained: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    source = [trained[0]] if kind == "teacher" else swapped / "logits.npy"
    result = train(swapped, tmp_path / "student", **{kind: source}, teacher_weight=1.0, **QUICK)
    assert result["dev_accuracy"] > 0.9


def test_patience_counts_epochs_that_are_not_better_even_if_they_are_as_good(files: Path, tmp_path: Path) -> None:
    assert train(files, tmp_path / "m", epochs=25, patience=3, batch_size=16)["epochs"] < 25
