"""A run's own TMPDIR: what libraries leave there goes with the run, whoever ends it."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from models_tf.folders import leftovers, open_folders, temporary

ROOT = Path(__file__).parents[2]
# A command whose library leaves a file behind, and which is then ended.
ENDED = """
import os, signal, sys, tempfile
number = int(sys.argv.pop())
if number == signal.SIGHUP:
    signal.signal(number, signal.SIG_DFL)  # under nohup it is ignored
from exporters.commands import models
def run(options, terminal):
    open(os.path.join(os.environ["TMPDIR"], "library"), "w").close()
    tempfile.mkstemp()
    os.kill(os.getpid(), number)
models.run = run
from exporters.__main__ import main
sys.exit(main())
"""


def ended(folder: Path, number: int) -> int:
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", ENDED, "models", str(number)]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode


def test_temporary_files_of_libraries_and_processes_go_with_the_block(monkeypatch, tmp_path):
    open_folders.forget()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with temporary.own_place():
        tempfile.mkdtemp()
        subprocess.run(["mktemp"], check=True, capture_output=True)
        (inside,) = tmp_path.iterdir()
        assert len(list(inside.iterdir())) == 3, "two files and the marker of the run"
        assert not list(leftovers.find(tmp_path)), "its run is alive"
    assert not list(tmp_path.iterdir())
    assert os.environ["TMPDIR"] == str(tmp_path)
    assert open_folders.outcome() == open_folders.NOTHING


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 2), (signal.SIGHUP, 129)])
def test_a_signal_leaves_nothing_in_tmpdir(number, code, tmp_path):
    assert ended(tmp_path, number) == code
    assert not list(tmp_path.iterdir())


def test_what_a_kill_leaves_in_tmpdir_is_found_by_clean(tmp_path):
    assert ended(tmp_path, signal.SIGKILL) == -signal.SIGKILL
    (found,) = leftovers.find(tmp_path)
    found.clear()
    assert not list(tmp_path.iterdir())


def test_without_a_place_for_temporary_files_nothing_changes(monkeypatch):
    def full(**_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    monkeypatch.setenv("TMPDIR", "/nowhere")
    with temporary.own_place():
        assert os.environ["TMPDIR"] == "/nowhere"
