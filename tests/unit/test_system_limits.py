"""Limits of the system: too little address space, too few files or threads are one line before TensorFlow starts."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from exporters import system_limits
from exporters.commands.main import COMMANDS, LIGHT
from models_tf.errors import InputError

ROOT = Path(__file__).parents[2]
# Flags that each command with TensorFlow asks for.
HEAVY = {
    "export": ["--model", "prado", "--quantize", "int8", "--output", "out"],
    "train": ["train", "--train", "rows.tsv", "--dev", "rows.tsv", "--output", "out"],
    "compress": ["compress", "--checkpoint", "folder", "--drop-layers", "top:1", "--output", "out"],
    "ablate": ["ablate", "--checkpoint", "folder", "--data", "rows.tsv"],
    "profile": ["profile", "--checkpoint", "folder", "--output", "out"],
    "explain": ["explain", "--checkpoint", "folder", "--text", "a"],
}


def limited(kind: int, value: int, arguments: list[str], folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "exporters", *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120,
        preexec_fn=lambda: resource.setrlimit(kind, (value, value)), check=False,
    )  # fmt: skip


def test_every_command_with_tensorflow_is_listed_here():
    assert set(HEAVY) == set(COMMANDS) - set(LIGHT)


@pytest.mark.parametrize("name", HEAVY)
def test_two_gigabytes_of_address_space_are_refused_in_one_line(name, tmp_path):
    """F13: `ulimit -v 2000000` was a segmentation fault, or a line and a process that never ended."""
    done = limited(resource.RLIMIT_AS, 2_000_000 << 10, HEAVY[name], tmp_path)
    assert done.returncode == 2, done.stderr[-2000:]
    assert done.stderr.count("\n") == 1
    assert "MB of address space at least. Received: a limit of 1,953 MB (ulimit -v 2000000)" in done.stderr
    assert not list(tmp_path.iterdir())


def test_too_few_open_files_are_refused_in_one_line(tmp_path):
    done = limited(resource.RLIMIT_NOFILE, 20, HEAVY["export"], tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "open files at least. Received: a limit of 20 (ulimit -n 20)" in done.stderr


def test_too_few_threads_are_refused(monkeypatch):
    monkeypatch.setattr(system_limits, "_free_threads", lambda: 3)
    with pytest.raises(InputError, match=r"threads at least. Received: a limit that leaves 3 to this user"):
        system_limits.check("An export")


@pytest.mark.skipif(os.getuid() != 0 or not Path("/proc/self/task").is_dir(), reason="becomes another user")
def test_threads_of_a_user_are_counted():
    child = os.fork()
    if not child:  # the user nobody, who has few processes
        os.setgid(65534)
        os.setuid(65534)
        resource.setrlimit(resource.RLIMIT_NPROC, (1000, 1000))
        free = system_limits._free_threads()
        os._exit(0 if free is not None and 0 < free < 1000 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_light_commands_need_no_such_space(tmp_path):
    done = limited(resource.RLIMIT_AS, 1_000_000 << 10, ["models"], tmp_path)
    assert done.returncode == 0
    assert "prado" in done.stdout
