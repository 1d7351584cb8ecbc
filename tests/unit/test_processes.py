"""A process that a command started ends with the command, however that ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from models_tf.processes import tied

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for a signal at the end")
ROOT = Path(__file__).parents[2]
STARTS = (
    # A shell starts what runs in its background with Ctrl-C ignored, and so would this process be.
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "import subprocess, sys; from models_tf.processes import tied; "
    "child = subprocess.Popen(tied(['sleep', '600'])); print(child.pid, flush=True); child.wait()"
)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def has_ended(pid: int) -> bool:
    end = time.monotonic() + 20
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_running(pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_tied_process_ends_with_its_parent(number):
    with subprocess.Popen([sys.executable, "-c", STARTS], cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        end = time.monotonic() + 20
        while not Path(f"/proc/{child}/cmdline").read_bytes().startswith(b"sleep") and time.monotonic() < end:
            time.sleep(0.02)
        parent.send_signal(number)
        parent.wait(timeout=60)
    assert has_ended(child)


def test_a_tied_process_whose_parent_is_gone_already_does_not_start(tmp_path):
    command = tied(["touch", str(tmp_path / "made")])
    command[5] = str(os.getpid() + 1)  # a parent of another number: the one it had is gone
    assert subprocess.run(command, check=False).returncode == 1
    assert not (tmp_path / "made").exists()


def test_a_tied_process_has_the_streams_arguments_and_environment_of_the_call():
    done = subprocess.run(
        tied(["sh", "-c", 'cat; printf "%s|%s" "$1" "$WORD"; exit 7', "sh", "two words"]),
        input="in ", capture_output=True, text=True, env={"WORD": "set", "PATH": os.environ["PATH"]}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (7, "in two words|set")


def test_a_program_that_is_not_there_is_said_so():
    with pytest.raises(FileNotFoundError) as caught:
        tied(["no-such-program-anywhere"])
    assert caught.value.filename == "no-such-program-anywhere"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 2), (signal.SIGKILL, -9)])
def test_npm_does_not_run_on_after_an_interrupted_setup(tmp_path, number, code):
    """A program named npm that never ends, since the real one is over when its registry does not answer."""
    (tmp_path / "bin").mkdir()
    npm = tmp_path / "bin" / "npm"
    lines = ("#!/bin/sh", f'echo $$ > "{tmp_path}/new"', f'mv "{tmp_path}/new" "{tmp_path}/pid"', "exec sleep 600")
    npm.write_text("\n".join(lines) + "\n")
    npm.chmod(0o755)
    environment = {**os.environ, "PATH": f"{npm.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    environment |= {"EXPORT_MOBILE_CACHE": str(tmp_path / "cache"), "NODE_PATH": ""}
    command = [sys.executable, "-m", "exporters", "setup", "web"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as setup:
        end = time.monotonic() + 60
        while not (tmp_path / "pid").exists() and time.monotonic() < end:
            time.sleep(0.02)
        pid = int((tmp_path / "pid").read_text())
        setup.send_signal(number)
        said = setup.communicate(timeout=60)[1]
    assert setup.returncode == code
    assert has_ended(pid)
    if number != signal.SIGKILL:
        assert said.count("\n") == 1
        assert not list((tmp_path / "cache").iterdir())
