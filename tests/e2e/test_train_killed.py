"""F9 with the command itself: `kill -9` at any moment, also while it saves, and `--resume` until it is done."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.projection_training import OVERRIDES
from support.token_training import BERT_SIZES, overrides, write_task

pytestmark = pytest.mark.slow
SIZES = {
    "prado": OVERRIDES,
    "bert": overrides({**BERT_SIZES, "hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.2}),
}
KILLS = 2


def command(model: str, files: Path, output: Path) -> list[str]:
    flags = ["--train", files / "train.tsv", "--dev", files / "dev.tsv", "--output", output, "--model", model]
    flags += ["--max-seq-len", "12", "--epochs", "6", "--batch-size", "8", "--save-minutes", "0", "--seed", "3"]
    flags += ["--patience", "6", *(part for size in SIZES[model] for part in ("--set", size))]
    flags += ["--vocab", files] if model == "bert" else []
    return [sys.executable, "-m", "exporters", "train", *map(str, flags), "--json"]


def kill_when_it_trains(command: list[str], output: Path, generator: random.Random) -> None:
    """The state is saved after every batch: wherever the kill comes, it is near a save."""
    state = output / "resume.safetensors"
    before = state.stat().st_mtime_ns if state.exists() else 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and running.poll() is None:
            if state.exists() and state.stat().st_mtime_ns != before:
                break
            time.sleep(0.01)
        time.sleep(generator.uniform(0.0, 0.3))
        os.kill(running.pid, signal.SIGKILL)


@pytest.mark.parametrize("model", SIZES)
def test_f9_a_command_killed_by_the_system_gives_the_weights_of_one_that_was_not(tmp_path: Path, model: str) -> None:
    files = write_task(tmp_path, random.Random(2))
    generator, cut = random.Random(model), tmp_path / "cut"
    resume: list[str] = []
    for _ in range(KILLS):
        kill_when_it_trains([*command(model, files, cut), *resume], cut, generator)
        if not (cut / "resume.safetensors").exists():
            break  # it was done before
        resume = ["--resume"]
    assert resume
    if (cut / "resume.safetensors").exists():
        done = subprocess.run([*command(model, files, cut), *resume], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["epochs"] == 6
    whole = subprocess.run(command(model, files, tmp_path / "whole"), check=False, capture_output=True, text=True)
    assert whole.returncode == 0, whole.stderr
    assert (cut / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()
    left, wanted = (sorted(path.name for path in folder.iterdir()) for folder in (cut, tmp_path / "whole"))
    assert left == wanted
