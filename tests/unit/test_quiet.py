import logging
import os
import warnings

import pytest

from exporters.quiet import quiet


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
