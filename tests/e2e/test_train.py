"""`export-mobile train` through the command line: learns, resumes, refuses."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

COMMAND = [sys.executable, "-m", "exporters.cli", "train"]
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


def train(files: Path, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    arguments = ["--train", str(files / "train.tsv"), "--dev", str(files / "dev.tsv"), "--output", str(output)]
    return subprocess.run(
        [*COMMAND, *arguments, *SMALL, *options], check=False, capture_output=True, text=True, timeout=300
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
    assert sorted(path.name for path in output.iterdir()) == ["config.json", "labels.txt", "model.safetensors"]
    assert (output / "labels.txt").read_text().split() == ["music", "weather"]


def test_a_checkpoint_exists_already_and_is_kept(files: Path, trained: tuple[Path, dict[str, float]]) -> None:
    before = (trained[0] / "model.safetensors").read_bytes()
    done = train(files, trained[0])
    assert done.returncode == 2
    assert "--resume, --force or another name" in done.stderr
    assert (trained[0] / "model.safetensors").read_bytes() == before


def test_a_killed_training_resumes_where_it_was(files: Path, tmp_path: Path) -> None:
    options = ["--epochs", "10", "--batch-size", "16", "--save-minutes", "0", "--patience", "10"]
    arguments = ["--train", str(files / "train.tsv"), "--dev", str(files / "dev.tsv"), "--output", str(tmp_path / "m")]
    with subprocess.Popen([*COMMAND, *arguments, *SMALL, *options], stderr=subprocess.PIPE, text=True) as running:
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
        (["--epochs", "0"], "`epochs` must be 1 to"),
        (["--text-column", "body"], "Received: text, label"),
        (["--train", "absent.tsv"], "no such file"),
        (["--resume"], "resume.safetensors"),
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
