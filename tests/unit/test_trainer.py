"""The training loop in one process, with the smallest SGNN: what must not stop it, and what must."""

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from exporters import TrainRequest
from exporters import train as train_model
from models_tf.checkpoints import atomic_files
from models_tf.checkpoints import projection as checkpoint
from models_tf.errors import InputError
from models_tf.folders import manifest
from models_tf.folders.output_folder import OutputFolder
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.prado.config import BRANCHES
from models_tf.sgnn.config import SgnnConfig
from models_tf.sgnn.model import Sgnn
from models_tf.training.progress import Progress
from models_tf.training.seeds import batch_seed, step_seed
from models_tf.training.teacher import CheckpointTeacher, StoredTeacher
from support.token_training import Lines

SIZES = {
    "sgnn": ["hidden_size=4", "hidden_layers=1"],
    "prado": ["embedding_size=4", "shared_bottleneck=true", *(f"{name}=0" for name in BRANCHES if name != "bigram")],
}


def write_rows(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))
    return path


def train(
    data: Path,
    output: Path,
    *,
    model: str = "sgnn",
    overrides: tuple[str, ...] = (),
    progress: Progress | None = None,
    **fields: Any,
) -> dict[str, Any]:
    sizes = (*SIZES[model], "projection.feature_size=16", *overrides)
    given = {"train": data, "dev": data, "output": output, "max_seq_len": 4, "epochs": 1, **fields}
    return train_model(TrainRequest(model=model, overrides=sizes, **given), progress=progress).to_dict()


@pytest.mark.parametrize("model", ["sgnn", "prado"])
def test_batches_of_empty_texts_and_the_largest_seed_train(tmp_path: Path, model: str) -> None:
    # Of labels that are as frequent as each other there would be nothing to learn.
    rows = write_rows(tmp_path / "f.tsv", [("", "x"), ("", "x"), ("", "y")])
    result = train(rows, tmp_path / "out", seed=2**31 - 1, model=model)
    assert result["dev_rows"] == 3


def test_only_a_better_epoch_is_called_the_best_and_a_training_says_why_it_stops(tmp_path: Path) -> None:
    # One text with both labels: the dev score is 50 % in every epoch.
    rows = write_rows(tmp_path / "f.tsv", [("a", "x"), ("a", "y")])
    progress = Lines()
    result = train(rows, tmp_path / "out", epochs=10, patience=3, progress=progress)
    marks = [line.split("dev 50.00 %")[1].split("  ")[0] for line in progress.lines[:-1]]
    assert marks == [" (best)", *[" (as good, kept)"] * 3]
    assert progress.lines[-1] == "stopped after epoch 4 of 10: no better dev score for 3 epochs"
    # Of equal epochs the last one is kept, as its line says.
    assert (result["best_epoch"], result["epochs"]) == (4, 4)


def test_a_training_whose_last_epoch_ends_its_patience_was_not_stopped(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "f.tsv", [("a", "x"), ("a", "y")])
    progress = Lines()
    train(rows, tmp_path / "out", epochs=3, patience=2, progress=progress)
    assert progress.lines[-1].startswith("epoch 3/3  loss")


def test_a_teacher_reads_a_batch_of_empty_texts(tmp_path: Path) -> None:
    config = SgnnConfig(
        num_labels=2, hidden_size=4, projection=ProjectionConfig(feature_size=16, presence_feature=True)
    )
    weights = checkpoint.tensors(Sgnn(config))
    saved = checkpoint.ProjectionCheckpoint(model_name="sgnn", config=config, labels=["x", "y"], weights=weights)
    checkpoint.save(tmp_path, saved)
    found = CheckpointTeacher(tmp_path, ["x", "y"], 1.0, False).probabilities(tf.constant([b"", b""]), None)
    np.testing.assert_allclose(tf.reduce_sum(found, -1), [1, 1], rtol=1e-5)


def test_batch_seeds_are_63_bits_and_differ() -> None:
    seeds = {batch_seed(s, e, i) for s in (0, 1, 2**31 - 1) for e in range(3) for i in range(3)}
    assert len(seeds) == 27
    assert all(0 <= seed < 1 << 63 for seed in seeds)


def test_seeds_of_steps_differ_and_follow_from_seed_and_step_alone() -> None:
    places = [(s, e, i) for s in (0, 1, 2**31 - 1) for e in range(3) for i in range(3)]
    assert len({tuple(step_seed(*place).tolist()) for place in places}) == len(places)
    assert step_seed(1, 2, 3).tolist() == step_seed(1, 2, 3).tolist()


def test_a_loss_that_is_not_finite_stops_training_and_no_such_checkpoint_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from models_tf.training import losses

    single_label = losses.single_label
    monkeypatch.setattr(losses, "single_label", lambda *args: (single_label(*args)[0] * np.inf, single_label(*args)[1]))
    rows = write_rows(tmp_path / "f.tsv", [("a", "x"), ("b", "y")] * 4)
    with pytest.raises(InputError, match=r"The loss must stay finite.*epoch 1, batch 1.*Nothing was written"):
        train(rows, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_weights_that_the_last_step_broke_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss is of the weights before the step: here it is finite and they are not."""
    monkeypatch.setattr(checkpoint, "tensors", lambda model: {w.name: np.full(2, np.nan) for w in model.weights})
    rows = write_rows(tmp_path / "f.tsv", [("a", "x"), ("b", "y")] * 4)
    with pytest.raises(InputError, match="The loss must stay finite"):
        train(rows, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("files_that_fit", "outcome", "left"),
    [
        (0, "No space left on device. Nothing was written.", []),
        (3, "No space left on device. Nothing was written.", []),
        (
            4,
            "The best checkpoint so far is kept in",
            [manifest.GROWING, "config.json", "labels.txt", "model.safetensors"],
        ),
    ],
)
def test_a_full_disk_leaves_whole_files_only_and_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files_that_fit: int, outcome: str, left: list[str]
) -> None:
    written: list[int] = []

    def fsync(descriptor: int) -> None:
        if len(written) == files_that_fit:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(descriptor)

    monkeypatch.setattr(atomic_files.os, "fsync", fsync)
    rows = write_rows(tmp_path / "f.tsv", [("a", "x"), ("b", "y")] * 4)
    with pytest.raises(InputError) as caught:
        train(rows, tmp_path / "deep" / "out")
    assert outcome in str(caught.value)
    assert sorted(path.name for path in (tmp_path / "deep").rglob("*.*")) == left
    assert (tmp_path / "deep").exists() == bool(left)


@pytest.mark.parametrize("name", ["../others.txt", "{folder}/others.txt", "link/others.txt"])
def test_forcing_removes_no_file_outside_of_the_folder_whatever_its_manifest_names(tmp_path: Path, name: str) -> None:
    """A manifest may come from anywhere."""
    rows = write_rows(tmp_path / "f.tsv", [("a", "x"), ("b", "y")])
    (tmp_path / "others.txt").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link").symlink_to(tmp_path)
    manifest.add(tmp_path / "out", "train", ["link", name.format(folder=tmp_path)])
    train(rows, tmp_path / "out", force=True)
    assert (tmp_path / "others.txt").read_text() == "mine"


def test_forcing_removes_the_manifest_of_a_folder_that_was_complete(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "f.tsv", [("a", "x"), ("b", "y")] * 4)
    with OutputFolder(tmp_path / "out", command="compress") as folder:
        folder.write("compression.json", "{}")
        folder.commit()
    train(rows, tmp_path / "out", force=True)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [manifest.GROWING, "config.json", "labels.txt", "model.safetensors"]


def test_forcing_removes_what_an_earlier_training_left(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "f.tsv", [("a", "x"), ("b", "y")] * 4)
    (tmp_path / "out").mkdir()
    for name in ("resume.safetensors", "compression.json", "config.json"):
        (tmp_path / "out" / name).write_bytes(b"old")
    manifest.add(tmp_path / "out", "train", ["resume.safetensors", "compression.json", "config.json"])
    train(rows, tmp_path / "out", force=True)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [manifest.GROWING, "config.json", "labels.txt", "model.safetensors"]
    assert "compression.json" not in (manifest.read(tmp_path / "out") or ())


@pytest.mark.parametrize("ours", [["resume.safetensors"], []], ids=["one of two", "none"])
def test_forcing_keeps_the_files_of_others(tmp_path: Path, ours: list[str]) -> None:
    rows, out = write_rows(tmp_path / "f.tsv", [("a", "x"), ("b", "y")] * 4), tmp_path / "out"
    out.mkdir()
    for name in (*ours, "labels.txt"):
        (out / name).write_bytes(b"theirs")
    if ours:
        manifest.add(out, "train", ours)
    with pytest.raises(InputError, match=r"must be a new folder.*which holds labels\.txt"):
        train(rows, out, force=True)
    assert (out / "labels.txt").read_bytes() == b"theirs"


def test_a_training_does_not_write_into_what_it_reads(tmp_path: Path) -> None:
    rows, teacher = write_rows(tmp_path / "f.tsv", [("a", "x"), ("b", "y")] * 4), tmp_path / "teacher"
    train(rows, teacher)
    before = {path.name: path.read_bytes() for path in teacher.iterdir()}
    for output in (teacher, teacher / "student"):
        with pytest.raises(InputError, match="`output` must not"):
            train(rows, output, teacher=[teacher], force=True)
    assert {path.name: path.read_bytes() for path in teacher.iterdir()} == before


def test_teacher_logits_that_are_not_finite_are_named_by_row(tmp_path: Path) -> None:
    logits = np.zeros((5, 2), np.float32)
    logits[3, 1] = np.inf
    np.save(tmp_path / "t.npy", logits)
    with pytest.raises(InputError, match="row 3"):
        StoredTeacher(tmp_path / "t.npy", 5, 2, 1.0, False)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"overrides": ("num_labels=3",)}, "it is counted in `train`"),
        ({"overrides": ("multi_label=true",)}, "use `multi_label`"),
        ({"overrides": ("projection.max_tokens=3",)}, "use `max_seq_len`"),
        ({"overrides": ("projection.pad_to=3",)}, "use `max_seq_len`"),
        ({"overrides": ("projection.max_bytes=64",)}, "use `max_bytes` of the export"),
        ({"overrides": ("projection.distortion=0.5",)}, "use `distortion`"),
        ({"overrides": ("dropout=" + "[" * 100_000,)}, "takes a number"),
        ({"overrides": ("dropout=" + "9" * 5000,)}, "takes a number"),
        ({"overrides": ("dropout=NaN",)}, "`dropout` must be in"),
        ({"overrides": ("hidden_size=100000000000",)}, "`hidden_size` must be 1 to"),
        ({"max_seq_len": 4097}, "`max_seq_len` must have at most 4,096 tokens (the limit tokens). Received: 4,097"),
        ({"label_separator": ";"}, "`label_separator` needs `multi_label`"),
        ({"multi_label": True, "label_separator": ""}, "`label_separator` must not be empty"),
        ({"temperature": 3.0}, "`temperature` needs `teacher`"),
        ({"teacher_weight": 0.5}, "`teacher_weight` needs `teacher`"),
        ({"text_column": "text", "label_column": "text"}, "'text' for both"),
    ],
)
def test_a_field_that_cannot_work_is_one_line(tmp_path: Path, fields: dict[str, Any], expected: str) -> None:
    rows = write_rows(tmp_path / "f.tsv", [("a", "x"), ("b", "y")])
    with pytest.raises(InputError) as caught:
        train(rows, tmp_path / "deep" / "out", **fields)
    assert expected in str(caught.value)
    assert not (tmp_path / "deep").exists()
