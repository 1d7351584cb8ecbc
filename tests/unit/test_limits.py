"""Limits have names: one table, overridden by flag, environment or `override`, also for processes that are started."""

import os
import subprocess
import sys

import pytest

from exporters.commands import main as cli
from models_tf import limits
from models_tf.errors import InputError, naming_fields


def test_an_override_holds_inside_and_in_processes_that_are_started_there():
    code = "from models_tf import limits; print(limits.value('rows'))"
    with limits.override(rows=7):
        assert limits.value("rows") == 7
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "7\n"
    assert limits.value("rows") == limits.LIMITS["rows"].default
    assert limits.variable("rows") not in os.environ


def test_overrides_nest_and_the_environment_is_the_outermost(monkeypatch):
    monkeypatch.setenv("EXPORT_MOBILE_LIMIT_LINE_BYTES", "4KB")
    assert limits.value("line_bytes") == 4096
    with limits.override(line_bytes=9), limits.override(line_bytes=8):
        assert limits.value("line_bytes") == 8
    assert limits.value("line_bytes") == 4096


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_takes_limits_and_its_help_says_so(name, capsys):
    assert cli.main([name, "--help"]) == 0
    assert "--limit NAME=VALUE" in capsys.readouterr().out


def test_the_flag_holds_during_the_command_alone(monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(cli.command("models"), "run", lambda *_: seen.append(limits.value("rows")) or 0)
    assert cli.main(["models", "--limit", "rows=5", "--limit", "line_bytes=1MB"]) == 0
    assert (seen, limits.value("rows")) == ([5], limits.LIMITS["rows"].default)


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("rows", "--limit must be NAME=VALUE, such as rows=1000. Received: 'rows'."),
        ("row=5", "Received: 'row'. Did you mean rows?"),
        ("rows=many", "--limit rows must be a whole number from 1. Received: 'many'."),
        ("rows=0", "--limit rows must be a whole number from 1. Received: '0'."),
        ("rows=5MB", "--limit rows must be a whole number from 1. Received: '5MB'."),
        ("line_bytes=-1", "--limit line_bytes must be a whole number from 1, or a size such as 64MB. Received: '-1'."),
        ("rows=" + "9" * 5000, "--limit rows must be a whole number from 1. Received: '9999"),
    ],
)
def test_a_bad_flag_is_one_line(setting, line, capsys):
    assert cli.main(["models", "--limit", setting]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert line in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(("name", "text"), [("ROWS", "lots"), ("ROWZ", "5")])
def test_a_bad_variable_is_one_line(name, text, monkeypatch, capsys):
    monkeypatch.setenv(f"EXPORT_MOBILE_LIMIT_{name}", text)
    assert cli.main(["models"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_error_names_the_limit_and_how_to_raise_it():
    with limits.override(labels=3), pytest.raises(InputError) as caught:
        limits.check("labels", 1234, "labels.txt")
    assert str(caught.value) == (
        "labels.txt must have at most 3 labels (the limit labels). Received: 1,234. "
        "If that is meant: --limit labels=N, or EXPORT_MOBILE_LIMIT_LABELS=N in the environment."
    )


def test_a_caller_from_python_reads_what_to_call():
    with pytest.raises(InputError, match=r"`models_tf\.limits\.override` labels=N"), naming_fields():
        raise limits.exceeded("labels", "x must have", "y")
