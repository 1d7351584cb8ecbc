"""Markdown is wrapped at 120 characters, like the code. Tables, code and single long words are left as they are."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.pages import MARKDOWN, ROOT

WIDTH = 120


def prose_lines(path: Path) -> Iterator[tuple[int, str]]:
    fence = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark = re.match(r"\s*(```|~~~)", line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif not fence and not line.startswith("    ") and not line.lstrip().startswith(("|", "<!--")):
            yield number, line


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_prose_is_wrapped(path: Path) -> None:
    long = [number for number, line in prose_lines(path) if len(line) > WIDTH and " " in line.strip()[:-1]]
    assert long == []
