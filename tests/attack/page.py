"""The figures in docs/reliability.md, rewritten from docs/results/attack.json.

python -m tests.attack.page
"""

import json
from pathlib import Path
from typing import Any

from tests.attack import tally

ROOT = Path(__file__).resolve().parents[2]
PAGE, RESULT = ROOT / "docs" / "reliability.md", ROOT / "docs" / "results" / "attack.json"
BEGIN, END = "<!-- attack: begin -->", "<!-- attack: end -->"


def section(document: dict[str, Any]) -> str:
    """Command, figures and table."""
    minutes = round(document["seconds"] / 60)
    found = len(document["findings"])
    findings = "no finding" if not found else "1 finding" if found == 1 else f"{found} findings"
    summary = f"{document['inputs']:,} inputs in {minutes} minutes, seed {document['seed']}: {findings}."
    return f"```\n{document['command']}\n```\n\n{summary}\n\n{tally.markdown(tally.rows(document))}"


def rewrite(document: dict[str, Any], path: Path = PAGE) -> None:
    """Put the section between the two marks."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n\n{section(document)}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    rewrite(json.loads(RESULT.read_bytes()))
