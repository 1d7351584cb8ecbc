"""`models_tf.memory`: cycles of a step are gone after it, without a search through everything else."""

import gc
import sys
import weakref

import pytest

from models_tf import memory


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_what_was_made_inside_is_collected_and_what_was_there_before_only_afterwards():
    before = Cycle()
    there = weakref.ref(before)
    with memory.set_aside():
        del before
        inside = Cycle()
        made = weakref.ref(inside)
        del inside
        memory.give_back()
        assert made() is None
        assert there() is not None
    memory.give_back()
    assert there() is None


def test_the_libraries_are_loaded_before_they_are_set_aside():
    with memory.set_aside("colorsys"):
        assert "colorsys" in sys.modules
        assert gc.get_freeze_count() > 0


def test_nothing_stays_set_aside_after_an_error():
    with pytest.raises(KeyError), memory.set_aside():
        raise KeyError
    assert gc.get_freeze_count() == 0
