"""The stage display: quiet, plain and live."""

import io
import re
import time

import pytest

from exporters.console.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def a_terminal_that_can_move_its_cursor(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")


def left_on_screen(stream: io.StringIO) -> str:
    """What a reader sees in the end: a line that is erased and written again counts once."""
    lines = [""]
    for part in re.split(r"(\n|\r|\x1b\[2K|\x1b\[1A)", stream.getvalue()):
        if part == "\n":
            lines.append("")
        elif part == "\x1b[2K":
            lines[-1] = ""
        elif part == "\x1b[1A" and len(lines) > 1:
            lines.pop()
        elif part not in ("\r", "\x1b[1A"):
            lines[-1] += re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", part)
    return "\n".join(lines)


def test_a_pipe_gets_one_line_a_stage_with_seconds():
    stream = io.StringIO()
    progress = Progress(stream=stream)
    with progress.stage("convert"):
        progress.live("nothing of this")
    progress.line("a remark")
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("convert")
    assert lines[0].endswith("0.0 s")
    assert lines[1] == "a remark"
    assert len(lines) == 2


def test_long_work_in_a_pipe_lets_a_live_line_stay_every_so_often():
    stream = io.StringIO()
    progress = Progress(stream=stream, every_seconds=0.05)
    progress.live("at once")
    time.sleep(0.06)
    progress.live("step 9")
    progress.live("step 10")
    assert stream.getvalue() == "step 9\n"


def test_a_terminal_sees_the_stage_while_it_runs_and_one_line_after():
    stream = Terminal()
    with Progress(stream=stream).stage("convert"):
        assert "convert" in stream.getvalue()
    assert re.fullmatch(r"convert +0\.0 s\n", left_on_screen(stream))


def test_a_live_line_gives_way_to_the_next_line_and_is_gone_at_the_end():
    stream = Terminal()
    progress = Progress(stream=stream)
    progress.live("step 1")
    assert "step 1" in stream.getvalue()
    progress.live("step 2")
    progress.line("epoch 1")
    progress.live("step 3")
    progress.close()
    assert left_on_screen(stream) == "epoch 1\n"


def test_a_remark_inside_of_a_stage_stands_above_it():
    stream = Terminal()
    progress = Progress(stream=stream)
    with progress.stage("convert"):
        progress.line("a remark")
    assert [line.split()[0] for line in left_on_screen(stream).splitlines()] == ["a", "convert"]


def test_a_killed_process_leaves_the_cursor_where_it_is():
    stream = Terminal()
    with Progress(stream=stream).stage("convert"):
        assert "\x1b[?25l" not in stream.getvalue()


def test_a_dumb_terminal_gets_plain_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with Progress(stream=stream).stage("convert"):
        assert stream.getvalue() == ""
    assert re.fullmatch(r"convert +0\.0 s\n", stream.getvalue())


def test_a_narrow_window_gets_one_line_that_is_cut(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    with Progress(stream=stream).stage("convert to tflite and onnx and more"):
        shown = re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]|\r", "", stream.getvalue())
    assert 0 < len(shown.strip("\n")) <= 20
    assert "…" in shown


def test_control_characters_do_not_reach_the_terminal():
    stream = Terminal()
    progress = Progress(stream=stream)
    with progress.stage("read \x1b]0;owned\x07"):
        progress.live("tensor \x1b[31m")
        progress.line("label \x9b31m \u202e")
    assert "\x1b]0" not in stream.getvalue()
    assert "\x1b[31m" not in stream.getvalue()
    assert "label \\x9b31m \\u202e" in stream.getvalue()


def test_quiet_prints_nothing_and_still_keeps_the_time():
    stream = Terminal()
    progress = Progress(stream=stream, quiet=True)
    with progress.stage("convert"):
        progress.live("step")
    progress.line("a remark")
    assert stream.getvalue() == ""
    assert list(progress.seconds) == ["convert"]


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_a_stage_that_raises_prints_no_finished_line(kind):
    stream = kind()
    with pytest.raises(ValueError, match="broken"), Progress(stream=stream).stage("convert"):
        raise ValueError("broken")
    assert left_on_screen(stream) == ""


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_a_stream_that_closes_does_not_stop_the_work(kind):
    stream = kind()
    progress = Progress(stream=stream)
    with progress.stage("convert"):
        stream.close()
    with progress.stage("write"):
        pass
    assert list(progress.seconds) == ["convert", "write"]


def test_held_lines_come_at_release_in_their_order_and_later_ones_at_once():
    stream = io.StringIO()
    progress = Progress(stream=stream, held=True)
    progress.line("first")
    with progress.stage("second"):
        pass
    assert stream.getvalue() == ""
    progress.release()
    progress.line("third")
    assert [line.split()[0] for line in stream.getvalue().splitlines()] == ["first", "second", "third"]


def test_a_terminal_sees_a_held_stage_while_it_runs_and_nothing_stays():
    stream = Terminal()
    with Progress(stream=stream, held=True).stage("convert"):
        assert "convert" in stream.getvalue()
    assert left_on_screen(stream) == ""


def test_release_of_a_quiet_display_prints_nothing():
    stream = io.StringIO()
    progress = Progress(stream=stream, quiet=True, held=True)
    progress.line("first")
    progress.release()
    assert stream.getvalue() == ""
