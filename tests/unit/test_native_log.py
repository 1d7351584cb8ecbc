"""Chatter of native libraries stays away from the user; our own lines arrive."""

import os

import pytest

from exporters.native_log import quiet_native_output


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
