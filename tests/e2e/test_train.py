"""`export-mobile train` through the command line: learns, resumes, refuses."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from models_tf.checkpoints import projection as checkpoint
from models_tf.folders import manifest

COMMAND = [sys.executable, "-m", "exporters", "train"]
SMALL = [
    "--set", "embedding_size=8", "--set", "projection.feature_size=64", "--max-seq-len", "8",
    *(part for name in ("fourgram", "fivegram", "skip1bigram", "skip2bigram") for part in ("--set", f"{name}=0")),
]  # fmt: skip
WORDS = {"music": ["play", "song", "jazz", "album"], "weather": ["rain", "sunny", "forecast", "storm"]}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    generator = random.Random(0)
    for name, rows in (("train", 400), ("dev", 100)):
        lines = ["text\tlabel"]
        for _ in range(rows):
            label = generator.choice(sorted(WORDS))
            filler = [generator.choice(["the", "a", "my", "please", "now"]) for _ in range(4)]
            lines.append(" ".join([*filler, generator.choice(WORDS[label]), generator.choice(filler)]) + "\t" + label)
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return folder


def command(files: Path, output: Path, *options: str) -> list[str]:
    arguments = ["--train", str(files / "train.tsv"), "--dev", str(files / "dev.tsv"), "--output", str(output)]
    return [*COMMAND, *arguments, *SMALL, *options]


def train(files: Path, output: Path, *options: str, **how: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(files, output, *options), check=False, capture_output=True, text=True, timeout=300, **how
    )


@pytest.fixture(scope="module")
def trained(files: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, float]]:
    output = tmp_path_factory.mktemp("trained") / "model"
    done = train(files, output, "--epochs", "6", "--batch-size", "16", "--average", "0.9", "--json")
    assert done.returncode == 0, done.stderr
    return output, json.loads(done.stdout)


def test_training_learns_and_writes_a_checkpoint(trained: tuple[Path, dict[str, float]]) -> None:
    output, result = trained
    assert result["dev_accuracy"] > 0.95
    assert result["dev_rows"] == 100
    assert result["dev_accuracy_with_typos"] <= result["dev_accuracy"]
    assert sorted(path.name for path in output.iterdir()) == [
        manifest.GROWING,
        "config.json",
        "labels.txt",
        "model.safetensors",
    ]
    assert (output / "labels.txt").read_text().split() == ["music", "weather"]


def test_a_checkpoint_exists_already_and_is_kept(files: Path, trained: tuple[Path, dict[str, float]]) -> None:
    before = (trained[0] / "model.safetensors").read_bytes()
    done = train(files, trained[0])
    assert done.returncode == 2
    assert "--resume, --force or another name" in done.stderr
    assert (trained[0] / "model.safetensors").read_bytes() == before


def test_a_killed_training_resumes_where_it_was(files: Path, tmp_path: Path) -> None:
    options = ["--epochs", "10", "--batch-size", "16", "--save-minutes", "0", "--patience", "10"]
    with subprocess.Popen(command(files, tmp_path / "m", *options), stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 120
        while not (tmp_path / "m" / "model.safetensors").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
    assert (tmp_path / "m" / "resume.safetensors").exists()
    other = train(files, tmp_path / "m", *options, "--resume", "--learning-rate", "1e-4")
    assert other.returncode == 2
    assert "learning_rate was 0.003" in other.stderr
    done = train(files, tmp_path / "m", *options, "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["epochs"] == 10
    assert not (tmp_path / "m" / "resume.safetensors").exists()


def test_the_same_seed_gives_the_same_first_epoch(files: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert train(files, tmp_path / name, "--epochs", "1", "--seed", "3").returncode == 0
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("a", "b"))
    for name, value in first.items():
        # Threads add in any order: float32 rounding, grown over a few steps.
        np.testing.assert_allclose(value, second[name], atol=1e-4)


def test_multi_label_trains(tmp_path: Path) -> None:
    rows = ["text\tlabel", *(["play rain\tm|w", "play\tm", "rain\tw", "nothing\t|"] * 20)]
    for name in ("train", "dev"):
        (tmp_path / f"{name}.tsv").write_text("\n".join(rows) + "\n")
    done = train(tmp_path, tmp_path / "out", "--multi-label", "--epochs", "12", "--batch-size", "8", "--json",
                 "--class-weights", "balanced", "--average", "0.5")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["dev_accuracy"] > 0.9


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--model", "prada"], "Did you mean prado?"),
        (["--set", "embeding_size=8"], "Did you mean embedding_size?"),
        (["--set", "embedding_size=big"], "takes a int"),
        (["--max-seq-len", "0"], "--max-seq-len must be 1 to"),
        (["--max-seq-len", "99999999"], "--max-seq-len must be 1 to"),
        (["--epochs", "0"], "--epochs must be 1 to"),
        (["--text-column", "body"], "Received: text, label"),
        (["--train", "absent.tsv"], "no such file"),
        (["--resume"], "resume.safetensors"),
        (["--set", "projection.pad_to=4"], "use --max-seq-len"),
        (["--output", "/proc/nowhere/out"], "cannot be written"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    files: Path, tmp_path: Path, options: list[str], expected: str
) -> None:
    done = train(files, tmp_path / "out", *options)
    assert done.returncode == 2, done.stderr
    assert expected in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def interrupted(files: Path, output: Path, wait_for: Path | None, seconds: float = 0.0) -> str:
    """The one line that Ctrl-C leaves, when `wait_for` is there or after `seconds`."""
    options = ["--epochs", "10000", "--patience", "10000", "--batch-size", "64", "--json"]
    with subprocess.Popen(command(files, output, *options), stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 120
        while wait_for is not None and not wait_for.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(seconds)
        running.send_signal(signal.SIGINT)
        _, stderr = running.communicate(timeout=60)
    assert running.returncode == 2, stderr
    assert len(stderr.splitlines()) == 1, stderr
    return stderr


def test_ctrl_c_in_training_keeps_the_best_checkpoint_and_says_how_to_go_on(files: Path, tmp_path: Path) -> None:
    output = tmp_path / "deep" / "out"
    line = interrupted(files, output, output / "resume.safetensors")
    assert "interrupted. Go on with --resume. The best checkpoint so far is kept in" in line
    names = sorted(path.name for path in output.iterdir())
    assert names == [manifest.GROWING, "config.json", "labels.txt", "model.safetensors", "resume.safetensors"]
    checkpoint.load(output)


# While it is being imported, and while TensorFlow is.
@pytest.mark.parametrize("seconds", [0.7, 3.0])
def test_ctrl_c_before_the_first_epoch_leaves_nothing(files: Path, tmp_path: Path, seconds: float) -> None:
    line = interrupted(files, tmp_path / "deep" / "out", None, seconds)
    if not (tmp_path / "deep" / "out" / "config.json").exists():  # a fast machine has an epoch behind it
        assert "interrupted" in line
        assert list(tmp_path.iterdir()) == []


def test_a_disk_that_the_state_does_not_fit_keeps_the_best_checkpoint(files: Path, tmp_path: Path) -> None:
    """Files may be 40 KB at most: the weights are 24 KB, the state with the optimizer 90 KB."""
    limit = 40_000
    done = train(
        files,
        tmp_path / "out",
        *("--epochs", "3", "--batch-size", "64", "--json"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "File too large" in done.stderr
    assert "The best checkpoint so far is kept in" in done.stderr
    assert "othing was written" not in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        manifest.GROWING,
        "config.json",
        "labels.txt",
        "model.safetensors",
    ]
    checkpoint.load(tmp_path / "out")


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


@pytest.mark.parametrize("kind", ["--teacher", "--teacher-logits"])
def test_a_student_follows_its_teacher_against_the_labels(
    kind: str, swapped: Path, trained: tuple[Path, dict[str, float]], tmp_path: Path
) -> None:
    source = trained[0] if kind == "--teacher" else swapped / "logits.npy"
    options = [kind, str(source), "--teacher-weight", "1", "--epochs", "6", "--batch-size", "16", "--average", "0.9"]
    done = train(swapped, tmp_path / "student", *options, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["dev_accuracy"] > 0.9


def test_patience_counts_epochs_that_are_not_better_even_if_they_are_as_good(files: Path, tmp_path: Path) -> None:
    done = train(files, tmp_path / "m", "--epochs", "25", "--patience", "3", "--batch-size", "16", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["epochs"] < 25
