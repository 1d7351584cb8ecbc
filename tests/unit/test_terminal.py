"""What reaches a terminal: cleaned and cut, drawn by rich there, plain text elsewhere, JSON untouched."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from exporters.commands import main as cli
from exporters.console.cleaning import LONGEST_LINE, clean, clean_json, clean_line
from exporters.console.terminal import Terminal, error
from exporters.report import tables
from exporters.report.tables import Table
from models_tf.checkpoints import projection
from support.export_command import environment

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\x00\u202egnp.exe\u2066\u2028"
TABLE = Table(header=("file", "bytes"), rows=[("a [bold]x", "1,000"), ("b", "20")])


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def a_terminal_of_80_columns(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def shown(blocks, *, stream=io.StringIO) -> str:
    out = stream()
    Terminal(out, io.StringIO()).show(blocks)
    return out.getvalue()


def test_control_characters_and_overrides_become_escapes_and_text_stays():
    assert clean_line("grün 日本 \t " + ESCAPES) == (
        "grün 日本 \t \\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\x00\\u202egnp.exe\\u2066\\u2028"
    )
    assert clean_line("a\nb\rc") == "a\\x0ab\\x0dc"
    assert clean("a\nb\rc") == "a\nb\\x0dc"


def test_a_line_of_ten_megabytes_is_cut_and_says_so():
    cut = clean_line("x" * 10_000_000)
    assert cut == "x" * LONGEST_LINE + "… (10,000,000 characters)"
    assert clean_line("y" * LONGEST_LINE) == "y" * LONGEST_LINE


def test_json_says_the_same_and_holds_nothing_that_a_terminal_obeys():
    value = {"label": ESCAPES, "long": "x" * 5000}
    made = clean_json(json.dumps(value, ensure_ascii=False, indent=1))
    assert json.loads(made) == value
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", made)


@pytest.mark.parametrize("stream", [io.StringIO, Screen])
def test_every_way_to_the_terminal_is_clean(stream, capsys):
    out, err = stream(), stream()
    terminal = Terminal(out, err)
    terminal.show([f"label {ESCAPES}", Table(header=(ESCAPES, "n"), rows=[(ESCAPES, "1")], plain=[ESCAPES])])
    terminal.show([Table(header=(ESCAPES, "n"), rows=[(ESCAPES, "1")])])
    terminal.note(f"note {ESCAPES}")
    terminal.error("export-mobile", f"Received: {ESCAPES} and {'x' * 10_000_000}.")
    for text in (out.getvalue(), err.getvalue()):
        assert "\x1b]0" not in text
        assert "\x1b[2J" not in text
        assert not re.search("[\x00-\x08\x0b-\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert "owned" in out.getvalue()
    assert len(err.getvalue()) < 20_000


COMMANDS = [
    "::error::x",
    "  ::set-output name=x::1",
    "##[error]x",
    "a ##[group]x",
    "##vso[task.setvariable variable=x]1",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_text_of_others_is_no_command_for_a_ci_server(command):
    """A name of an operator reached a log as a line of its own, and GitHub would have shown it as our error."""
    out, err = io.StringIO(), io.StringIO()
    terminal = Terminal(out, err)
    terminal.show([f"1 x\n{command}", Table(header=(command, "n"), rows=[(command, "1")]), f"{command} {command}"])
    terminal.show(f"words\n{command}\n")
    terminal.note(f"note\n{command}")
    terminal.error("export-mobile", command)
    terminal.progress(quiet=False).line(f"a note\n{command}")
    log = out.getvalue() + err.getvalue()
    assert not re.search(r"(?m)^\s*::|##\w*\[", log)
    assert command.split("[")[-1].split("::")[-1] in log
    made = clean_json(json.dumps({"label": command}, indent=1))
    assert json.loads(made) == {"label": command}
    assert not re.search(r"(?m)^\s*::|##\w*\[", made)


def test_columns_stand_below_each_other_where_a_cell_is_escaped():
    out = io.StringIO()
    table = Table(header=("name", "count"), rows=[("::error::x", "1"), ("##[group]y", "2"), ("z", "3")])
    Terminal(out, io.StringIO()).show([table])
    lines = out.getvalue().splitlines()
    ends = {re.search(r"(count|[123])\s*$", line).end(1) for line in lines if line.strip()}
    assert len(ends) == 1, lines


def test_our_own_annotations_are_commands():
    out = io.StringIO()
    Terminal(out, io.StringIO()).commands(["::error title=a::b\n::error::c"])
    assert out.getvalue() == "::error title=a::b\\x0a::error::c\n"


def test_an_error_is_one_line_whatever_its_message_looks_like():
    out = io.StringIO()
    error(out, "export-mobile", "first\nsecond\r\n   third\x0b")
    assert out.getvalue() == "export-mobile: first second third\n"


def test_a_pipe_gets_aligned_columns_and_a_terminal_a_drawn_table():
    assert shown([TABLE]) == "file       bytes\na [bold]x  1,000\nb             20\n"
    drawn = shown([TABLE], stream=Screen)
    assert "\x1b[1m" in drawn
    assert "─" in drawn
    assert "a [bold]x" in drawn


def test_no_color_has_neither_color_nor_bold(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Screen()
    error(screen, "export-mobile", "bad rows")
    assert screen.getvalue() == "export-mobile: bad rows\n"
    assert "\x1b" not in shown([TABLE], stream=Screen)


def test_an_error_on_a_terminal_has_its_name_in_red():
    screen = Screen()
    error(screen, "export-mobile", "bad rows [x]")
    assert "\x1b[1;31mexport-mobile: \x1b[0m" in screen.getvalue()
    assert "bad rows [x]" in re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())


def test_a_narrow_window_cuts_no_number_and_no_name(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    table = Table(header=("file", "accuracy", "bytes"), rows=[("features_int8_dynamic.tflite", "94.02 %", "1,234,567")])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown([table], stream=Screen))
    for word in ("features_int8_dynamic.tflite", "94.02", "1,234,567"):
        assert word in lines


def test_a_dumb_terminal_gets_plain_text(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert shown([TABLE], stream=Screen) == shown([TABLE])


def test_a_narrow_window_keeps_every_character(monkeypatch):
    monkeypatch.setenv("COLUMNS", "24")
    wide = Table(header=("model", "what it is"), rows=[("prado", "a network with a long description")], numbers=False)
    drawn = re.sub(r"\x1b\[[0-9;]*m", "", shown([wide], stream=Screen))
    assert max(map(len, drawn.splitlines())) <= 24
    assert "anetworkwithalongdescription" in re.sub(r"prado|\s", "", drawn)


def test_a_table_with_its_own_plain_text_is_that_in_a_pipe():
    table = Table(header=("a",), rows=[("b",)], plain=["as it was"])
    assert shown(["head", table]) == "head\nas it was\n"


def test_one_function_writes_markdown_tables():
    assert tables.markdown(("a", "b"), [("x|y", "1\n2")]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 2 |"


def test_a_label_with_an_escape_sequence_does_not_reach_the_terminal_by_the_command(tmp_path, capfd):
    (tmp_path / "config.json").write_text(json.dumps({"format": ESCAPES + "x" * 1_000_000, "model": "prado"}))
    (tmp_path / projection.LABELS_FILE).write_text("a\n")
    for debug in ([], ["--debug"]):
        assert cli.main(["--checkpoint", str(tmp_path), "--output", str(tmp_path / "out"), *debug]) == 2
        text = capfd.readouterr().err
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert max(map(len, text.splitlines())) < 20_000
    assert len(text.splitlines()) > 1


def test_help_does_not_import_rich_or_shtab():
    code = "import sys; from exporters.commands.main import main; main(['--help']); print('rich' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    assert done.stdout.splitlines()[-1] == "False"
