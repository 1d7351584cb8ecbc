"""F9: the same seed gives the same weights, byte for byte, however often a training is killed and resumed.

Every kind of model, with dropout, and every stage: teacher, transfer, distillation, search, movement.
"""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file, save_file

from models_tf import limits
from models_tf.errors import InputError
from models_tf.training.progress import Silent
from models_tf.training.projection_learner import ProjectionLearner
from models_tf.training.schedule import WarmupCosine
from support.projection_training import OVERRIDES
from support.token_training import KilledAt, KilledError, train, write_tags, write_task

pytestmark = pytest.mark.slow
DROPOUT = {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.2}
SGNN = ("hidden_size=6", "hidden_layers=2", "projection.feature_size=16")
Fields = dict[str, Any]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labelled texts, the same words with tags, and texts without labels."""
    folder = write_task(tmp_path_factory.mktemp("bits"), random.Random(9), train_rows=64)
    write_tags(folder)
    for name in ("train", "dev"):
        texts = [line.split("\t")[0] for line in (folder / f"{name}.tsv").read_text().splitlines()[1:]]
        (folder / f"{name}.txt").write_text("\n".join(texts) + "\n")
    return folder


def rows(files: Path, suffix: str) -> Fields:
    return {"train": files / f"train.{suffix}", "dev": files / f"dev.{suffix}"}


@pytest.fixture(scope="module")
def bert(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("bits_teachers") / "bert"
    train(files, output, sizes=DROPOUT, learning_rate=1e-2, epochs=1)
    return output


@pytest.fixture(scope="module")
def tagger(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("bits_teachers") / "tagger"
    train(files, output, **rows(files, "conll"), task="token-classification", learning_rate=1e-2, epochs=1)
    return output


@pytest.fixture(scope="module")
def sgnn(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("bits_teachers") / "sgnn"
    train(files, output, model="sgnn", overrides=SGNN, epochs=1)
    return output


# Names of fixtures stand for their folders.
TRAININGS: dict[str, Fields] = {
    "sgnn": {"model": "sgnn", "overrides": SGNN, "epochs": 3},
    "prado": {"model": "prado", "overrides": OVERRIDES},
    "sgnn with texts": {"model": "sgnn", "overrides": SGNN, "teacher": ("bert",), "unlabelled": "dev.txt"},
    "prado with texts": {"model": "prado", "overrides": OVERRIDES, "teacher": ("sgnn", "bert"), "swap": 0.2,
                         "unlabelled": "dev.txt"},
    "prado with teachers": {"model": "prado", "overrides": OVERRIDES, "teacher": ("sgnn", "bert")},
    "bert": {"model": "bert", "sizes": DROPOUT, "average": 0.9},
    "mobilebert": {"model": "mobilebert", "sizes": DROPOUT},
    "albert": {"model": "albert", "sizes": DROPOUT},
    "ghostbert": {"model": "ghostbert", "sizes": {
        **DROPOUT, "export_mobile_kept_heads": "[1,3]", "intermediate_size": 18,
        "export_mobile_kept_ffn": "[12,18]", "ghost_heads": "[1,2]",
        "ghost_folds": "[2,1]"}},
    "powerbert": {"model": "powerbert", "checkpoint": "bert", "teacher": ("bert",), "fine_tune_epochs": 1,
                  "search_epochs": 1, "keep_share": 0.5, "epochs": 1, "batch_size": 24},
    "tagger with a distillation": {"model": "tagger", "teacher": ("tagger",), "unlabelled": "train.txt",
                                   "distill_epochs": 1, "epochs": 1},
    "transfer": {"model": "mobilebert", "sizes": DROPOUT, "teacher": ("bert",), "transfer": "progressive",
                 "transfer_epochs": 1, "epochs": 1},
    "hidden states and attention": {"model": "bert", "sizes": {**DROPOUT, "hidden_size": 18}, "teacher": ("bert",),
                                    "hidden_weight": 0.1, "attention_weight": 0.1},
    "movement": {"model": "bert", "checkpoint": "bert", "movement": "topk", "movement_keep": 0.3,
                 "movement_overrides": ("every=3", "cooldown=0.5")},
    "bert in windows": {"model": "bert", "sizes": DROPOUT, "teacher": ("bert",), "window": 24},
    "tagger in windows": {"model": "tagger", "teacher": ("tagger",), "epochs": 1, "window": 24},
    "soft movement": {"model": "bert", "checkpoint": "bert", "movement": "soft", "movement_overrides": ("every=3",)},
}  # fmt: skip
QUICK = ("sgnn", "sgnn with texts", "powerbert", "bert in windows")


@pytest.fixture
def fit(files: Path, request: pytest.FixtureRequest) -> Callable[..., Fields]:
    def run(name: str, output: Path, **more: Any) -> Fields:
        fields: Fields = {"epochs": 2, "learning_rate": 1e-3, "save_minutes": 0, "seed": 7, **TRAININGS[name], **more}
        if name.startswith("tagger"):
            fields |= rows(files, "conll")
        if "unlabelled" in fields:
            fields["unlabelled"] = files / fields["unlabelled"]
        if "checkpoint" in fields:
            fields["checkpoint"] = request.getfixturevalue(fields["checkpoint"])
        if "teacher" in fields:
            fields["teacher"] = [
                request.getfixturevalue(teacher) if isinstance(teacher, str) else teacher
                for teacher in fields["teacher"]
            ]
        with limits.override(rows=fields.pop("window", 100_000)):
            return train(files, output, **fields)

    return run


class Counted(Silent):
    """Counts batches."""

    def __init__(self) -> None:
        self.batches = 0

    def live(self, text: str) -> None:
        self.batches += "  batch " in text


def killed_and_resumed(fit: Callable[..., Fields], name: str, output: Path, steps: int, kills: int) -> Fields:
    """Each kill comes at a step of its own, drawn for this training; at least one batch is saved before it."""
    generator = random.Random(name)
    done, resume = 0, False
    for at in sorted(generator.sample(range(2, steps + 1), kills)):
        with pytest.raises(KilledError):
            fit(name, output, resume=resume, progress=KilledAt(at - done))
        done, resume = at - 1, True  # the batch at which it died was not saved
    return fit(name, output, resume=True)


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.exhaustive) for n in TRAININGS]
)
def test_f9_a_training_that_was_killed_gives_the_weights_of_one_that_was_not(
    fit: Callable[..., Fields], tmp_path: Path, name: str
) -> None:
    counted = Counted()
    whole = fit(name, tmp_path / "whole", progress=counted)
    kills = 2 if name in QUICK else 1
    resumed = killed_and_resumed(fit, name, tmp_path / "cut", counted.batches, kills)
    wanted, found = ((tmp_path / kind / "model.safetensors").read_bytes() for kind in ("whole", "cut"))
    assert found == wanted
    own = ("seconds", "output")
    assert {key: value for key, value in resumed.items() if key not in own} == {
        key: value for key, value in whole.items() if key not in own
    }


def test_a_training_killed_after_its_patience_ended_trains_no_further(
    fit: Callable[..., Fields], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies when all is trained and nothing is left but to finish."""
    stuck = {"epochs": 9, "patience": 1, "learning_rate": 1e-9}  # the dev score stays as it is
    whole = fit("sgnn", tmp_path / "whole", **stuck)

    def die(*_: object) -> Fields:
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(ProjectionLearner, "finish", die)
        with pytest.raises(KilledError):
            fit("sgnn", tmp_path / "cut", **stuck)
    assert whole["epochs"] == fit("sgnn", tmp_path / "cut", **stuck, resume=True)["epochs"] < 9
    wanted, found = ((tmp_path / kind / "model.safetensors").read_bytes() for kind in ("whole", "cut"))
    assert found == wanted


@pytest.mark.parametrize(
    ("case", "field", "file"), [("sgnn", "train", "train.tsv"), ("sgnn with texts", "unlabelled", "dev.txt")]
)
def test_a_resumed_training_refuses_other_data(
    fit: Callable[..., Fields], files: Path, tmp_path: Path, case: str, field: str, file: str
) -> None:
    changed = tmp_path / file
    changed.write_text((files / file).read_text())
    with pytest.raises(KilledError):
        fit(case, tmp_path / "cut", **{field: changed}, progress=KilledAt(3))
    changed.write_text(changed.read_text().replace("w1 ", "w2 "))
    with pytest.raises(InputError, match=rf"must have the data it began with. Received: `{field}` with other content"):
        fit(case, tmp_path / "cut", **{field: changed}, resume=True)


@pytest.mark.parametrize(
    ("student", "teacher"), [("sgnn", "sgnn"), ("sgnn", "bert"), ("bert", "bert"), ("bert in windows", "bert")]
)
def test_a_resumed_training_refuses_another_teacher_in_the_folder_of_the_first(
    fit: Callable[..., Fields], request: pytest.FixtureRequest, tmp_path: Path, student: str, teacher: str
) -> None:
    """One that answers in every batch, and one whose answers are kept."""
    folder = shutil.copytree(request.getfixturevalue(teacher), tmp_path / "teacher")
    with pytest.raises(KilledError):
        fit(student, tmp_path / "cut", teacher=(folder,), progress=KilledAt(3))
    shutil.copytree(tmp_path / "cut", tmp_path / "other")
    (folder / "notes.json").write_text("{}")  # is not read
    assert fit(student, tmp_path / "cut", teacher=(folder,), resume=True)["epochs"] >= 2
    weights = load_file(folder / "model.safetensors")
    save_file({name: value + 0.01 for name, value in weights.items()}, folder / "model.safetensors")
    with pytest.raises(InputError, match=r"must have the data it began with. Received: `teacher` with other content\."):
        fit(student, tmp_path / "other", teacher=(folder,), resume=True)


def test_f10_a_training_of_one_step_learns(fit: Callable[..., Fields], tmp_path: Path) -> None:
    for name, rate in (("low", 1e-4), ("high", 1e-3)):
        fit("sgnn", tmp_path / name, epochs=1, batch_size=64, learning_rate=rate)
    low, high = (load_file(tmp_path / name / "model.safetensors") for name in ("low", "high"))
    for name in low:
        if name.endswith(("kernel", "kernel:0")):
            assert np.abs(high[name] - low[name]).max() > 1e-5, name  # both began with the same weights


def test_f10_a_training_that_changes_nothing_is_refused(
    fit: Callable[..., Fields], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a rate of zero, as the first step had once."""
    monkeypatch.setattr(WarmupCosine, "__call__", lambda *_: tf.constant(0.0))
    with pytest.raises(InputError, match=r"A training must change the weights.*Nothing was written"):
        fit("sgnn", tmp_path / "m", epochs=1, save_minutes=100)
    assert not (tmp_path / "m").exists()
