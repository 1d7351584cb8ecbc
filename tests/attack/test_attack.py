"""About two minutes of the attack, by count and with a fixed seed: the same inputs on every machine.

`python -m tests.attack --minutes 30 --seed N` is the longer one.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
COUNT, SEED = 240, 16


def test_no_input_of_any_kind_ends_a_command_other_than_documented(tmp_path):
    """Deliver 5: no exit 1, no signal, no traceback, no leftovers, for mutated inputs of every kind."""
    from tests.attack import schedule

    result = tmp_path / "attack.json"
    wanted = [name for name, entry in schedule.load(["tests.attack.kinds"]).items() if entry.share > 0]
    options = ["--result", str(result), "--quiet", "--kinds", *wanted]
    finished = subprocess.run(
        [sys.executable, "-m", "tests.attack", "--count", str(COUNT), "--seed", str(SEED), *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert finished.returncode == 0, finished.stdout[-6000:] + finished.stderr[-3000:]
    document = json.loads(result.read_bytes())
    assert document["inputs"] == COUNT
    assert len(document["kinds"]) >= 25
    assert document["findings"] == []
    assert not any(kind["crashes"] for kind in document["kinds"].values())
