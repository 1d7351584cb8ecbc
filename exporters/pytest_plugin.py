"""A pytest plugin: `assert_quantized_accuracy`, a fixture for the tests of an app's repository.

    def test_the_model_is_as_good_as_before(assert_quantized_accuracy):
        assert_quantized_accuracy("model", data="dev.tsv", baseline="baseline.json", max_drop=0.5)

Registered by an entry point: installing export-mobile is enough. Imports nothing before a test asks for it.
"""

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from exporters.checking.result import CheckResult


class QuantizedAccuracy:
    """Call it with the model and the fields of `exporters.CheckRequest`; it fails the test when a gate fails."""

    def __call__(self, model: str | os.PathLike[str], **fields: Any) -> "CheckResult":
        __tracebackhide__ = True  # the reader wants the reason, not this line
        from exporters.checking.request import CheckRequest
        from exporters.checking.run import check
        from exporters.checking.text import blocks
        from exporters.report.tables import plain
        from models_tf.errors import InputError

        try:
            result = check(CheckRequest(model=model, **fields))  # type: ignore[arg-type]
        except InputError as error:
            pytest.fail(str(error), pytrace=False)
        if not result.passed:
            pytest.fail(plain(blocks(result)), pytrace=False)
        return result


@pytest.fixture(scope="session")
def assert_quantized_accuracy() -> QuantizedAccuracy:
    """Scores shipped files and fails the test when they got worse; see `exporters.CheckRequest` for the arguments."""
    return QuantizedAccuracy()
