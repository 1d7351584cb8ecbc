"""Training on several devices: what TF_CONFIG must hold, what is refused, and two devices that learn what one does."""

import contextlib
import json
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from exporters import Compression, TrainRequest
from exporters.errors import WorkerError
from exporters.training.agreement import agree
from exporters.training.cluster import Cluster
from exporters.training.meeting import meet
from models_tf import limits
from models_tf.errors import InputError
from support.mirrored_trainings import TRAININGS, write
from support.ports import free_ports
from support.token_training import Lines, write_task

TWO = {"worker": ["127.0.0.1:2222", "127.0.0.1:2223"]}
QUICK = ("tags", "prado")
PRUNED: dict[str, Any] = {"distribute": "mirrored", "model": "bert", "checkpoint": "x"}


@contextlib.contextmanager
def listening(host: str) -> Iterator[None]:
    with socket.create_server(("", int(host.rpartition(":")[2]))):
        yield


def work(own: str, other: str, *, after: float, met: threading.Barrier) -> None:
    """As a worker does: its port goes on to TensorFlow."""
    time.sleep(after)
    meet(own, [other], Lines())
    with listening(own):
        met.wait(30)


@pytest.mark.parametrize(
    ("text", "received"),
    [
        ("{", "no JSON"),
        ("[]", "cluster or task missing"),
        (json.dumps({"cluster": TWO}), "cluster or task missing"),
        (json.dumps({"cluster": {"ps": []}, "task": {}}), "a cluster with 'ps'"),
        (json.dumps({"cluster": {"worker": ["here"]}, "task": {}}), "worker is not a list of host:port"),
        (json.dumps({"cluster": {"worker": ["here:70000"]}, "task": {}}), "worker is not a list of host:port"),
        (json.dumps({"cluster": {"worker": ["a:1", "a:1"]}, "task": {"type": "worker", "index": 0}}), "one address"),
        (json.dumps({"cluster": TWO, "task": {"type": "worker"}}), "a task without the type and index"),
        (json.dumps({"cluster": TWO, "task": {"type": "chief", "index": 0}}), "a task without the type and index"),
        (json.dumps({"cluster": TWO, "task": {"type": [], "index": 0}}), "a task without the type and index"),
        (json.dumps({"cluster": {"worker": ["a:" + "1" * 5000]}, "task": {}}), "worker is not a list of host:port"),
        ("[" * 100_000, "no JSON"),
        (json.dumps({"cluster": TWO, "task": {"type": "worker", "index": 2}}), "index 2, where worker has 2"),
        (json.dumps({"cluster": {"chief": ["a:1", "b:2"]}, "task": {"type": "chief", "index": 0}}), "2 chiefs"),
    ],
)
def test_a_cluster_that_cannot_be_is_one_line(text: str, received: str) -> None:
    with pytest.raises(InputError) as caught:
        Cluster.of(text)
    assert received in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_a_cluster_the_line_shows_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(InputError, match=r"needs TF_CONFIG in the environment, such as {.*Received: none"):
        Cluster.of_environment()


def test_a_worker_says_whom_it_waits_for_and_gives_up_with_one_line() -> None:
    own, *others = (f"127.0.0.1:{port}" for port in free_ports(3))
    told, words = Lines(), f"within 1 seconds of each other. Received: none at {', '.join(others)}"
    with limits.override(worker_seconds=1), pytest.raises(WorkerError, match=words):
        meet(own, others, told)
    assert told.lines == [f"waiting for {', '.join(others)}"]


@contextlib.contextmanager
def stranger(host: str, says: bytes) -> Iterator[None]:
    """A program that is no worker, on a worker's port."""
    with socket.create_server(("", int(host.rpartition(":")[2]))) as server:

        def answer() -> None:
            with contextlib.suppress(OSError):
                while True:
                    with server.accept()[0] as connection:
                        connection.sendall(says)

        threading.Thread(target=answer, daemon=True).start()
        yield
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("says", [b"HTTP/1.0 400 Bad request\r\n", b"\x00" * 5000, b""])
def test_another_program_on_a_workers_port_is_not_taken_for_it(says: bytes) -> None:
    own, other = (f"127.0.0.1:{port}" for port in free_ports(2))
    with stranger(other, says), limits.override(worker_seconds=1):
        words = f"Received: another program at {other}. See what they say"
        with pytest.raises(WorkerError, match=words):
            meet(own, [other], Lines())


def test_a_program_that_never_answers_is_not_waited_for_without_end() -> None:
    own, other = (f"127.0.0.1:{port}" for port in free_ports(2))
    words = f"another program at {other}"
    with listening(other), limits.override(worker_seconds=1), pytest.raises(WorkerError, match=words):
        meet(own, [other], Lines())


def test_what_knocks_at_a_workers_port_does_not_disturb_the_meeting() -> None:
    own, other = (f"127.0.0.1:{port}" for port in free_ports(2))
    met, knocked = threading.Barrier(2), threading.Event()

    def knock() -> None:
        while not knocked.is_set():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(own[10:])), 1) as connection:
                connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            time.sleep(0.01)

    with ThreadPoolExecutor(3) as pool:
        knocks = pool.submit(knock)
        both = [pool.submit(work, own, other, after=0.0, met=met), pool.submit(work, other, own, after=0.5, met=met)]
        assert [each.result(timeout=60) for each in both] == [None, None]
        knocked.set()
        knocks.result()


@pytest.mark.parametrize("name", ["127.0.0.1", "[::1]"])
def test_a_worker_goes_on_once_all_are_there_and_frees_its_port(name: str) -> None:
    if name == "[::1]" and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    own, other = (f"{name}:{port}" for port in free_ports(2))
    met = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(work, own, other, after=0.0, met=met), pool.submit(work, other, own, after=0.3, met=met)]
        assert [each.result(timeout=60) for each in both] == [None, None]


def test_a_port_in_use_is_one_line() -> None:
    (port,) = free_ports(1)
    with listening(f"127.0.0.1:{port}"), pytest.raises(InputError, match=r"a free port. Received: .*in use"):
        meet(f"127.0.0.1:{port}", [], Lines())


def test_the_chief_is_the_one_named_so_or_the_first_worker() -> None:
    def is_chief(cluster: dict[str, list[str]], kind: str, index: int) -> bool:
        return Cluster.of(json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})).is_chief

    assert [is_chief(TWO, "worker", index) for index in (0, 1)] == [True, False]
    named = {"chief": ["127.0.0.1:1"], **TWO}
    assert [is_chief(named, "chief", 0), is_chief(named, "worker", 0)] == [True, False]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"distribute": "everywhere"}, "`distribute` must be one of mirrored, workers"),
        ({"distribute": "workers", "model": "bert", "checkpoint": "x", "movement": "topk"}, "with `movement`"),
        ({"distribute": "mirrored", "model": "powerbert", "checkpoint": "x"}, "with `model` powerbert"),
        (
            {**PRUNED, "compression": Compression(prune_heads=0.5)},
            "with `prune_heads`. Remedy: `export-mobile compress`",
        ),
        ({**PRUNED, "compression": Compression(prune_ffn=0.5)}, "with `prune_ffn`. Remedy: `export-mobile compress`"),
    ],
)
def test_what_cannot_be_distributed_is_refused_in_one_line(fields: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as caught:
        TrainRequest(train="a.tsv", dev="b.tsv", output="out", **fields)  # type: ignore[arg-type]
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_compression_without_gradients_can_be_distributed() -> None:
    chosen = Compression(prune_heads=0.5, head_importance="random", drop_layers="contribution:1", prune_vocab=True)
    request = TrainRequest(train="a.tsv", dev="b.tsv", output="out", **PRUNED, compression=chosen)  # type: ignore[arg-type]
    assert request.compression is chosen


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        QUICK,
        pytest.param(tuple(name for name in TRAININGS if name not in QUICK), marks=pytest.mark.exhaustive, id="others"),
    ],
)
def test_two_devices_learn_what_one_learns(tmp_path: Path, names: tuple[str, ...]) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(__file__).parents[2])])
    files = write(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "support.mirrored_trainings", str(files), str(tmp_path / "out"), *names],
        env={**os.environ, "PYTHONPATH": path, "TF_ENABLE_ONEDNN_OPTS": "1"},  # as on processors with AVX512-VNNI
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = dict(line.split("\t") for line in done.stdout.splitlines())
    assert sorted(found) == sorted(names)
    # Sums of float32 in another order; see tests/e2e/test_train_workers.py.
    assert all(float(difference) < 1e-5 for difference in found.values()), found


class Meeting:
    """Two workers in turn: the chief's description is kept for the other one."""

    def __init__(self, *, is_chief: bool, told: Any = None, others: int = 0) -> None:
        self.is_chief, self.told, self._others = is_chief, told, others

    def from_chief(self, value: Any) -> Any:
        self.told = value if self.is_chief else self.told
        return self.told

    def count(self, value: bool) -> int:
        return int(value) + self._others


def agreement(chief: TrainRequest, other: TrainRequest, **own: int) -> str:
    """What the other worker says, which has limits of its `own`."""
    first = Meeting(is_chief=True)
    agree(first, chief)  # type: ignore[arg-type] # as much of it as is needed
    try:
        with limits.override(**own):
            agree(Meeting(is_chief=False, told=first.told), other)  # type: ignore[arg-type]
    except InputError as error:
        return str(error)
    return ""


def test_workers_that_were_started_differently_say_what_differs(tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        files = write_task(tmp_path / place, random.Random(2), train_rows=20)
    files = tmp_path / "a"

    def asked(place: str = "a", **more: Any) -> TrainRequest:
        folder = tmp_path / place
        given = {"train": folder / "train.tsv", "dev": folder / "dev.tsv", "vocab": folder, "output": folder / "out"}
        return TrainRequest(**{"model": "bert", "distribute": "workers", **given, **more})

    same = "All workers must be started with the same flags and files. Received: "
    assert agreement(asked(), asked("b")) == ""  # other places, other outputs
    assert agreement(asked(), asked(seed=5)) == f"{same}--seed 5 here and not given at the chief."
    assert agreement(asked(epochs=3), asked(epochs=4)) == f"{same}--epochs 4 here and 3 at the chief."
    assert agreement(asked(), asked(resume=True)) == f"{same}--resume given here and not given at the chief."
    rows = (files / "train.tsv").read_text().splitlines()
    (files / "train.tsv").write_text("\n".join([rows[0], *reversed(rows[1:])]) + "\n")
    assert agreement(asked("b"), asked()) == f"{same}--train with other files than at the chief."
    (tmp_path / "b" / "vocab.txt").write_text((files / "vocab.txt").read_text() + "more\n")
    assert (
        agreement(asked(), asked("b", train=files / "train.tsv"))
        == f"{same}--vocab with other files than at the chief."
    )

    def smaller(**how: Any) -> TrainRequest:
        return asked(distribute=None, checkpoint=files, compression=Compression(**how))

    ffn = agreement(smaller(prune_ffn=0.2, prune_heads=0.5), smaller(prune_ffn=0.4, prune_heads=0.5))
    assert ffn == f"{same}--prune-ffn 0.4 here and 0.2 at the chief."
    layers = agreement(asked(distribute=None, checkpoint=files), smaller(drop_layers="top:1"))
    assert re.fullmatch(f"{same}--drop-layers .* here and not given at the chief.", layers)
    assert agreement(asked(), asked(), rows=10) == f"{same}--limit rows 10 here and 100000 at the chief."
    assert agreement(asked(), asked(), worker_seconds=10) == ""
    teachers = {place: tmp_path / place / "teacher" for place in ("a", "b")}
    for folder in teachers.values():
        folder.mkdir()
        (folder / "labels.txt").write_text("good\nbad\n")
        (folder / "training.json").write_text(f'{{"output": "{folder}"}}')  # how it was made does not matter
    alike, other = (asked(vocab=files, teacher=(folder,)) for folder in teachers.values())
    assert agreement(alike, other) == ""
    (teachers["b"] / "labels.txt").write_text("bad\ngood\n")
    assert agreement(alike, other) == f"{same}--teacher with other files than at the chief."
    with pytest.raises(InputError, match="1 with different ones; see what is said there"):
        agree(Meeting(is_chief=True, others=1), asked())  # type: ignore[arg-type]
