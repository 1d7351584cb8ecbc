"""docs/limits.md shows the table of limits as it is, and examples that work."""

import re

import pytest

from models_tf import limits
from support.pages import ROOT

TEXT = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("limit", limits.LIMITS.values(), ids=lambda limit: limit.name)
def test_the_page_has_every_limit_as_it_is(limit: limits.Limit) -> None:
    row = f"| `{limit.name}` | {limit.default:,} {limit.unit} | {limit.protects} | {limit.reason} |"
    assert row in TEXT.splitlines()


def test_the_page_has_no_other_limit() -> None:
    assert re.findall(r"^\| `(\w+)`", TEXT, flags=re.MULTILINE) == list(limits.LIMITS)


def test_the_flags_and_the_variable_of_the_page_are_right() -> None:
    assert limits.parse(re.findall(r"--limit ([a-z_]+=\w+)", TEXT)) == {"rows": 500_000, "line_bytes": 64 << 20}
    assert f"{limits.variable('rows')}=500000" in TEXT
