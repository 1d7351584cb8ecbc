"""Pages of the documentation and the results they show."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MARKDOWN = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def results(name: str) -> Any:
    return json.loads((ROOT / "docs" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def prose(name: str) -> str:
    """Without line breaks, for sentences that may be wrapped anywhere."""
    return " ".join(page(name).split())
