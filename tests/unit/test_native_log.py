"""Chatter of native libraries stays away from the user; our own lines arrive."""

import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from exporters.console.native_log import quiet, quiet_native_output

ROOT = Path(__file__).parents[2]


def test_what_libraries_write_is_lost_and_what_we_write_arrives(capfd):
    with quiet_native_output(enabled=True) as (stdout, stderr):
        os.write(1, b"library on 1\n")
        os.write(2, b"library on 2\n")
        stdout.write("our result\n")
        stderr.write("our progress\n")
    os.write(2, b"after\n")
    assert capfd.readouterr() == ("our result\n", "our progress\nafter\n")


def test_an_error_inside_restores_both_streams(capfd):
    with pytest.raises(ZeroDivisionError), quiet_native_output(enabled=True):
        raise ZeroDivisionError
    os.write(1, b"one\n")
    os.write(2, b"two\n")
    assert capfd.readouterr() == ("one\n", "two\n")


def test_debug_leaves_everything_as_it_is(capfd):
    with quiet_native_output(enabled=False):
        os.write(2, b"library\n")
    assert capfd.readouterr().err == "library\n"


def test_a_path_that_is_no_utf8_is_shown_with_escapes(capfd):
    with quiet_native_output(enabled=True) as (stdout, stderr):
        stdout.write(os.fsdecode(b"out-\xff\n"))
        stderr.write(os.fsdecode(b"err-\xff\n"))
    assert capfd.readouterr() == ("out-\\udcff\n", "err-\\udcff\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_at_the_start_lead_nowhere_and_no_file_gets_their_number(closed, tmp_path):
    code = (
        "import sys; from exporters.console.native_log import open_closed_streams, quiet_native_output\n"
        "open_closed_streams()\n"
        f"with open({str(tmp_path / 'file')!r}, 'w') as file, quiet_native_output(enabled=True) as (stdout, stderr):\n"
        "    number = file.fileno(); stdout.write('out'); stderr.write('err')\n"
        "sys.exit(0 if number > 2 else 9)"
    )
    shell = f'"$0" -c "$1" {closed}'
    done = subprocess.run(["/bin/sh", "-c", shell, sys.executable, code], cwd=ROOT, check=False)
    assert done.returncode == 0
    assert (tmp_path / "file").read_text() == ""


def speak() -> None:
    os.write(2, b"native chatter\n")
    logging.getLogger("tensorflow").warning("logged chatter")
    warnings.warn("warned chatter", UserWarning, stacklevel=2)


def test_chatter_of_every_kind_is_held_back(capfd, caplog):
    with quiet():
        speak()
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"
    assert not caplog.records


def test_a_failure_lets_the_chatter_through(capfd):
    def fail() -> None:
        with quiet():
            os.write(2, b"the reason\n")
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        fail()
    assert "the reason" in capfd.readouterr().err


def test_logging_and_warnings_are_as_before_afterwards():
    level = logging.root.manager.disable
    with quiet():
        pass
    assert logging.root.manager.disable == level
    with pytest.warns(UserWarning, match="still heard"):
        warnings.warn("still heard", UserWarning, stacklevel=1)
