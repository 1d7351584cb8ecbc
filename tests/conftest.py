"""How tests are shared out under `-n`: a file stays with one worker, so what its tests share is made once."""

import gc
import os
from typing import Any

import pytest

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # as the command does: a quarter less time for every process

# Files of other folders than e2e that take minutes: if they came last, one worker would wait for the other.
_LONG = ("test_rewrites.py",)


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in _LONG)  # all others stay in their order
    for item in items:
        if item.get_closest_marker("exhaustive"):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)  # the tests run without pytest-xdist, too
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files in the order of collection: the long ones, in e2e, first, so that the workers end together."""
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


@pytest.fixture(scope="module", autouse=True)
def _set_aside() -> None:
    """What is there stays: the garbage collector need not walk through TensorFlow again and again. An export in a test
    ends this (`models_tf/memory.py`), so it begins anew with every file.
    """
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()
