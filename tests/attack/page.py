"""The figures in docs/reliability.md, rewritten from docs/results/attack.json.

python -m tests.attack.page
"""

import json
import textwrap
from pathlib import Path
from typing import Any

from tests.attack import tally
from tests.attack.faults import kills

ROOT = Path(__file__).resolve().parents[2]
PAGE, RESULT = ROOT / "docs" / "reliability.md", ROOT / "docs" / "results" / "attack.json"
BEGIN, END = "<!-- attack: begin -->", "<!-- attack: end -->"


def section(document: dict[str, Any]) -> str:
    """Command, figures and table."""
    minutes = round(document["seconds"] / 60)
    found = len(document["findings"])
    findings = "no finding" if not found else "1 finding" if found == 1 else f"{found} findings"
    sent, deadly = kills.sent_and_deadly(document)
    faults = f"{document['faults']:,} faults of the system" if document["faults"] else "no fault of the system"
    signals = f", {sent:,} of them signals, {deadly:,} of which ended a run before its own end" if sent else ""
    summary = (
        f"{document['inputs'] - document['faults']:,} inputs and {faults}{signals}; {minutes} minutes, "
        f"seed {document['seed']}: {findings}."
    )
    wrapped = textwrap.fill(summary, 120, break_on_hyphens=False)
    return f"```\n{document['command']}\n```\n\n{wrapped}\n\n{tally.markdown(tally.rows(document))}"


def rewrite(document: dict[str, Any], path: Path = PAGE) -> None:
    """Put the section between the two marks."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n\n{section(document)}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    rewrite(json.loads(RESULT.read_bytes()))
