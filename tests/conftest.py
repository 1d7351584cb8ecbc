"""How tests are shared out under `-n`: a file stays with one worker, so what its tests share is made once."""

from typing import Any

import pytest

# Files of other folders than e2e that take minutes: if they came last, one worker would wait for the other.
_LONG = ("test_rewrites.py",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in _LONG)  # all others stay in their order


@pytest.hookimpl(optionalhook=True)  # the tests run without pytest-xdist, too
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files in the order of collection: the long ones, in e2e, first, so that the workers end together."""
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)
