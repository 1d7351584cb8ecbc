"""Tables of docs/training.md from what `unlabelled.py` wrote.

python benchmarks/unlabelled_table.py RESULT PAGE
"""

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

TITLES = {"sst2": "SST-2", "clinc150": "CLINC150", "snips": "SNIPS"}
MISSING = "-"


def sets(results: dict[str, Any]) -> str:
    """The data of each set, and how good its teacher is."""
    lines = ["| set | labelled rows | texts | test rows | teacher's accuracy |", "|---|---|---|---|---|"]
    for name, found in _measured(results).items():
        counts = " | ".join(f"{found[key]:,}" for key in ("labelled_rows", "unlabelled_rows", "test_rows"))
        lines.append(f"| {TITLES[name]} | {counts} | {found['teacher_test']:.1f} |")
    return "\n".join(lines)


def settings(results: dict[str, Any], test: str) -> str:
    """Mean and range of the accuracy in this test; only settings whose seeds are complete."""
    measured = _measured(results)
    shown = [f"{TITLES[name]} (standard error {_error(found, test):.1f})" for name, found in measured.items()]
    lines = [f"| | {' | '.join(shown)} |", "|" + "---|" * (len(measured) + 1)]
    names = list(dict.fromkeys(setting for found in measured.values() for setting in found["settings"]))
    for setting in names:
        cells = [_cell(found["settings"].get(setting), test) for found in measured.values()]
        if set(cells) != {MISSING}:
            lines.append(f"| {setting} | {' | '.join(cells)} |")
    return "\n".join(lines)


def fill(page: str, results: dict[str, Any]) -> str:
    """The page with its tables made anew."""
    tables = {"sets": sets(results), "settings": settings(results, "test"), "typos": settings(results, "typos")}
    for name, table in tables.items():
        begin, end = f"<!-- unlabelled: {name} -->\n", f"<!-- end: {name} -->"
        page = re.sub(
            f"{re.escape(begin)}.*?{re.escape(end)}", lambda _, t=f"{begin}{table}\n{end}": t, page, flags=re.DOTALL
        )
    return page


def _measured(results: dict[str, Any]) -> dict[str, Any]:
    """Sets with at least one complete setting."""
    found = {name: results["sets"][name] for name in TITLES if name in results["sets"]}
    return {
        name: one
        for name, one in found.items()
        if any(_cell(setting, "test") != MISSING for setting in one["settings"].values())
    }


def _cell(setting: dict[str, Any] | None, test: str) -> str:
    if setting is None or len(setting["runs"]) < 3:
        return MISSING
    found = setting[test]
    return f"{found['mean']:.1f} ({found['lowest']:.1f} to {found['highest']:.1f})"


def _error(found: dict[str, Any], test: str) -> float:
    """Of one run of the first setting, in points."""
    share = next(iter(found["settings"].values()))[test]["mean"] / 100
    return 100 * math.sqrt(share * (1 - share) / found["test_rows"])


if __name__ == "__main__":
    result, page = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    page.write_text(fill(page.read_text(encoding="utf-8"), result), encoding="utf-8")
