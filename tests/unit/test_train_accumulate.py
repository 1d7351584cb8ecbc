"""Several batches per update learn what one batch with all of their rows learns, and resume to the bit."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models_tf.training.schedule import WarmupCosine
from support.token_training import KilledAt, KilledError, train, weights_of, write_tags, write_task

WHOLE: dict[str, Any] = {"epochs": 2, "learning_rate": 1e-2, "seed": 5, "average": 0.0}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 rows: of batches of 8 the last has 4, and of groups of two the last has one and a half."""
    folder = write_task(tmp_path_factory.mktemp("accumulate"), random.Random(9), train_rows=60)
    write_tags(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classification", "token-classification"])
def test_two_batches_per_update_are_one_of_twice_the_rows(files: Path, tmp_path: Path, task: str) -> None:
    """Tags: means over words, of which the batches have different numbers. All rows are in one group of lengths, and
    the order of its batches is that of the lengths in both trainings.
    """
    ending = "tsv" if task == "classification" else "conll"
    rows = {"train": files / f"train.{ending}", "dev": files / f"dev.{ending}", "task": task}
    for name, how in (("large", {"batch_size": 60}), ("parts", {"batch_size": 8, "accumulate": 8})):
        train(files, tmp_path / name, **rows, **how, **WHOLE)
    large, parts = (weights_of(tmp_path / name) for name in ("large", "parts"))
    for name, value in large.items():
        # Adam divides by the root of squared gradients: rounding of tiny gradients shows in full steps of the rate, so
        # the bulk is compared, and no weight may be further off than a step.
        difference = np.abs(parts[name] - value)
        assert np.quantile(difference, 0.99) < 1e-4, name
        assert difference.max() < 2 * WHOLE["learning_rate"], name


def test_the_schedule_counts_updates(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    begin = WarmupCosine.__init__
    monkeypatch.setattr(WarmupCosine, "__init__", lambda self, *args: seen.append(args[2]) or begin(self, *args))
    train(files, tmp_path / "m", model="sgnn", overrides=("hidden_size=4",), epochs=3, batch_size=8, accumulate=3)
    assert seen == [9]  # 8 batches an epoch: groups of 3, 3 and 2


@pytest.mark.slow
@pytest.mark.parametrize("model", ["sgnn", "bert"])
def test_a_training_killed_between_updates_resumes_to_the_bit(files: Path, tmp_path: Path, model: str) -> None:
    sizes = {"hidden_dropout_prob": 0.2} if model == "bert" else None
    more: dict[str, Any] = {"model": model, "epochs": 2, "batch_size": 8, "accumulate": 3, "save_minutes": 0}
    more |= {"sizes": sizes} if sizes else {"overrides": ("hidden_size=4", "projection.feature_size=16")}
    train(files, tmp_path / "whole", **more)
    with pytest.raises(KilledError):
        train(files, tmp_path / "cut", progress=KilledAt(5), **more)
    train(files, tmp_path / "cut", resume=True, **more)
    cut, whole = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("cut", "whole"))
    assert cut == whole
