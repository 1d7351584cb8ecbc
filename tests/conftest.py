"""How tests are shared out under `-n`: a file stays with one worker, so what its tests share is made once."""

from typing import Any

import pytest


@pytest.hookimpl(optionalhook=True)  # the tests run without pytest-xdist, too
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files in the order of collection: the long ones, in e2e, first, so that the workers end together."""
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)
