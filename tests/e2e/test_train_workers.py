"""Two workers on loopback train what one trains, to rounding; if one is lost the other says so, and any can resume."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from exporters import train
from exporters.commands.main import parser_of
from exporters.commands.train import request_of
from exporters.training.meeting import meet
from support.ports import free_ports
from support.projection_training import OVERRIDES
from support.token_training import BERT_SIZES, Lines, overrides, write_task

pytestmark = pytest.mark.slow
SIZES = {
    "prado": OVERRIDES,
    "bert": overrides({**BERT_SIZES, "hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.2}),
}
SECONDS = 100  # for all workers of a test; far more than they need
LOST = 8


def command(model: str, files: Path, output: Path, *more: str) -> list[str]:
    flags = ["--train", files / "train.tsv", "--dev", files / "dev.tsv", "--output", output, "--model", model]
    flags += ["--max-seq-len", "12", "--epochs", "2", "--batch-size", "16", "--seed", "3", "--learning-rate", "1e-3"]
    flags += [part for size in SIZES[model] for part in ("--set", size)]
    flags += ["--vocab", files] if model == "bert" else []
    return [sys.executable, "-m", "exporters", "train", *map(str, flags), "--json", *more]


def two_hosts() -> list[str]:
    return [f"127.0.0.1:{port}" for port in free_ports(2)]


def start_one(run: list[str], hosts: list[str], index: int) -> subprocess.Popen[str]:
    config = {"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}}
    return subprocess.Popen(
        [*run, "--distribute", "workers"],
        env={**os.environ, "TF_CONFIG": json.dumps(config)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start(run: list[str], *second: str) -> list[subprocess.Popen[str]]:
    """Two workers; the first is the chief, the other one has more flags."""
    hosts = two_hosts()
    return [start_one([*run, *(second if index else ())], hosts, index) for index in range(2)]


def finish(workers: list[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    """Exit code and both streams of each."""
    deadline, found = time.monotonic() + SECONDS, []
    try:
        for worker in workers:
            out, err = worker.communicate(timeout=max(1.0, deadline - time.monotonic()))
            found.append((worker.returncode, out, err))
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.kill()
                worker.communicate()
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """33 rows: the last batch of an epoch has one, and one of the two workers nothing of it."""
    return write_task(tmp_path_factory.mktemp("workers"), random.Random(2), train_rows=33)


def alone(model: str, files: Path, output: Path, *more: str) -> dict[str, Any]:
    """The same training in this process; its record."""
    arguments = command(model, files, output, *more)[4:]
    return train(request_of(parser_of("train").parse_args(arguments))).to_dict()


def assert_equal_but_for_rounding(one: Path, two: Path) -> None:
    assert sorted(path.name for path in one.iterdir()) == sorted(path.name for path in two.iterdir())
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (one, two))
    for name, value in ours.items():
        # Sums of float32 in another order, some 1e-7 of a gradient. Adam makes a full step of a gradient that is all
        # rounding, but such weights stay near where they were: at most a hundredth of the rate, 1e-3, was allowed.
        np.testing.assert_allclose(theirs[name], value, rtol=1e-4, atol=1e-5, err_msg=name)


def test_two_workers_train_a_prado_as_one_does(files: Path, tmp_path: Path) -> None:
    """Statistics of a batch are of all its parts."""
    done = finish(start(command("prado", files, tmp_path / "two")))
    assert [code for code, _, _ in done] == [0, 0], done
    results = [json.loads(out) for _, out, _ in done]
    assert results[0] == results[1]  # the other follows the chief
    assert results[0]["best_epoch"] == alone("prado", files, tmp_path / "one")["best_epoch"]
    assert_equal_but_for_rounding(tmp_path / "one", tmp_path / "two")


def test_workers_with_other_flags_are_refused_before_they_train(files: Path, tmp_path: Path) -> None:
    done = finish(start(command("prado", files, tmp_path / "two"), "--learning-rate", "0.1"))
    assert [code for code, _, _ in done] == [2, 2], done
    lines = [said.strip().splitlines()[-1] for _, _, said in done]
    assert "Received: 1 with different ones; see what is said there." in lines[0]
    assert "Received: --learning-rate 0.1 here and 0.001 at the chief." in lines[1]
    assert not (tmp_path / "two").exists()


def test_there_is_nothing_to_resume_at_the_chief(files: Path, tmp_path: Path) -> None:
    done = finish(start(command("prado", files, tmp_path / "two", "--resume")))
    assert [code for code, _, _ in done] == [2, 2], done
    lines = [said.strip().splitlines()[-1] for _, _, said in done]
    assert "Received: no such file." in lines[0]
    assert "Received: none at the chief; see what is said there." in lines[1]


# Which worker is lost, how, and what the other says it can go on with.
LOSSES = [
    (1, signal.SIGKILL, "Go on with --resume."),
    (0, signal.SIGKILL, "if it has saved a state, add --resume."),
    (1, signal.SIGSTOP, "Go on with --resume."),  # hangs without dying
]


def test_a_lost_worker_ends_the_other_with_one_line_and_what_was_saved_leads_to_what_one_trains(
    files: Path, tmp_path: Path
) -> None:
    two, more = tmp_path / "two", ("--epochs", "40", "--patience", "40", "--save-minutes", "0")
    run = command("bert", files, two, *more)
    for lost, how, remedy in LOSSES:
        workers, state = start(run), two / "resume.safetensors"
        before = state.read_bytes() if state.exists() else None
        deadline = time.monotonic() + SECONDS
        while (not state.exists() or state.read_bytes() == before) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(workers[lost].pid, how)
        since = time.monotonic()
        ((code, _, said),) = finish([workers[1 - lost]])
        assert time.monotonic() - since < 60
        workers[lost].kill()
        workers[lost].communicate()
        assert code == LOST, said
        line = said.strip().splitlines()[-1]
        assert "All workers must run until the end." in line
        assert remedy in line
        run = command("bert", files, two, *more, "--resume")
    assert alone("bert", files, two, *more, "--resume")["epochs"] == 40  # one worker takes over from two
    assert alone("bert", files, tmp_path / "one", *more)["epochs"] == 40
    assert_equal_but_for_rounding(tmp_path / "one", two)


def test_a_worker_that_is_lost_once_it_has_greeted_is_not_waited_for_without_end(files: Path, tmp_path: Path) -> None:
    """TensorFlow connects the workers after that, and would wait an hour."""
    workers = []
    for index in range(2):
        hosts = two_hosts()
        run = command("prado", files, tmp_path / str(index), "--limit", "worker_seconds=20")
        workers.append(start_one(run, hosts, index))
        meet(hosts[1 - index], [hosts[index]], Lines())
    since = time.monotonic()
    for code, _, said in finish(workers):
        assert code == LOST, said
        assert "Received: one that cannot be reached any more." in said.strip().splitlines()[-1]
    assert time.monotonic() - since < 60
    assert not list(tmp_path.iterdir())
