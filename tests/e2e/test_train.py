"""`export-mobile train` as a command: results, resuming, exit codes, what a signal or a full disk leaves."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from models_tf.checkpoints import projection as checkpoint
from models_tf.folders import manifest
from support.projection_training import OVERRIDES, write_task

COMMAND = [sys.executable, "-m", "exporters", "train"]
SMALL = ["--max-seq-len", "8", *(part for size in OVERRIDES for part in ("--set", size))]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_task(tmp_path_factory.mktemp("data"))


def command(files: Path, output: Path, *options: str) -> list[str]:
    arguments = ["--train", str(files / "train.tsv"), "--dev", str(files / "dev.tsv"), "--output", str(output)]
    return [*COMMAND, *arguments, *SMALL, *options]


def train(files: Path, output: Path, *options: str, **how: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(files, output, *options), check=False, capture_output=True, text=True, timeout=300, **how
    )


@pytest.mark.slow
def test_a_checkpoint_is_written_and_its_result_printed(files: Path, tmp_path: Path) -> None:
    done = train(files, tmp_path / "m", "--epochs", "1", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["dev_rows"], result["epochs"]) == (100, 1)
    before = (tmp_path / "m" / "model.safetensors").read_bytes()
    done = train(files, tmp_path / "m")
    assert done.returncode == 2
    assert "--resume, --force or another name" in done.stderr
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == before


@pytest.mark.exhaustive  # a kill by the system is in test_train_killed.py
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--model", "prada"], "Did you mean prado?"),
        (["--set", "embeding_size=8"], "Did you mean embedding_size?"),
        (["--set", "embedding_size=big"], "takes a whole number"),
        (["--max-seq-len", "0"], "--max-seq-len must be at least 1"),
        (["--max-seq-len", "99999999"], "at most 4,096 tokens (the limit tokens)"),
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


@pytest.mark.slow
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


@pytest.mark.slow
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
