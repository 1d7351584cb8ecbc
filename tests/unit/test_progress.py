"""The stage display: quiet, plain and live."""

import io

import pytest

from exporters.console.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_one_line_a_stage_with_seconds():
    stream = io.StringIO()
    progress = Progress(stream=stream)
    with progress.stage("convert"):
        pass
    progress.line("a remark")
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("convert")
    assert lines[0].endswith("0.0 s")
    assert lines[1] == "a remark"
    assert len(lines) == 2


def test_a_terminal_sees_the_stage_while_it_runs_and_one_line_after():
    stream = Terminal()
    with Progress(stream=stream).stage("convert"):
        pass
    assert "\r" in stream.getvalue()
    assert stream.getvalue().split("\033[K")[-1].count("\n") == 1


def test_quiet_prints_nothing_and_still_keeps_the_time():
    stream = Terminal()
    progress = Progress(stream=stream, quiet=True)
    with progress.stage("convert"):
        pass
    progress.line("a remark")
    assert stream.getvalue() == ""
    assert list(progress.seconds) == ["convert"]


def test_a_stage_that_raises_prints_no_finished_line():
    stream = io.StringIO()
    with pytest.raises(ValueError, match="broken"), Progress(stream=stream).stage("convert"):
        raise ValueError("broken")
    assert stream.getvalue() == ""


def test_a_closed_stream_does_not_stop_the_work():
    stream = io.StringIO()
    stream.close()
    progress = Progress.__new__(Progress)
    progress.__init__(stream=io.StringIO())
    progress._stream = stream
    with progress.stage("convert"):
        pass
    assert "convert" in progress.seconds


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
        pass
    assert "convert" in stream.getvalue()
    assert stream.getvalue().endswith("\033[K")


def test_release_of_a_quiet_display_prints_nothing():
    stream = io.StringIO()
    progress = Progress(stream=stream, quiet=True, held=True)
    progress.line("first")
    progress.release()
    assert stream.getvalue() == ""
