"""The committed Unicode tables are those of the installed `tokenizers` package, and one text in both languages."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import generate_tokenizer_tables as generate  # noqa: E402  (found by the line above)


def text_of(path: Path) -> str:
    return "".join(re.findall(r'"([0-9a-zA-Z_-]+)"', (ROOT / path).read_text(encoding="utf-8")))


def test_java_and_javascript_have_the_same_tables():
    assert text_of(generate.JAVA) == text_of(generate.JAVASCRIPT)
    assert 30_000 < len(text_of(generate.JAVA)) < 100_000


@pytest.mark.exhaustive
def test_the_tables_are_those_of_the_installed_package():
    assert generate.encode(generate.find_properties()) == text_of(generate.JAVA), (
        "run tools/generate_tokenizer_tables.py if the package has changed"
    )
