"""Faults of the system, a short selection of `python -m tests.attack`: kills, full disks, limits, company."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack import schedule

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
SEED = 16
# Cheap ones of each sort; exports and trainings are in the long run.
KILLS = [
    f"{word}: {job}" for word in ("kill -9", "SIGTERM", "SIGINT") for job in ("compress", "demo page", "setup web")
]
OTHERS = ("file size", "address space", "open files", "full disk", "full TMPDIR", "read-only folder", "two processes")
OTHERS += ("output replaced meanwhile", "checkpoint changes meanwhile", "TMPDIR vanishes")


def test_no_fault_of_the_system_leaves_half_an_output_or_a_process(tmp_path):
    """Deliver 5: after kills, on full disks, under limits and beside other processes the output is whole or absent."""
    kinds = schedule.load([schedule.FAULTS])
    places = [f"{name}:{number}" for name in KILLS for number in range(2)]
    places += [f"{name}:0" for name in OTHERS if name in kinds]
    result = tmp_path / "faults.json"
    command = [sys.executable, "-m", "tests.attack", "--seed", str(SEED), "--quiet", "--result", str(result)]
    command += [word for place in places for word in ("--only", place)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    document = json.loads(result.read_bytes())
    assert document["inputs"] == len(places)
    assert document["findings"] == []


def test_every_command_that_takes_a_while_is_killed():
    kinds = schedule.load([schedule.FAULTS])
    words = {"export", "train", "compress", "ablate", "explain", "check", "bench", "android", "demo", "setup"}
    for signal_name in ("kill -9", "SIGTERM", "SIGINT"):
        killed = {name.partition(": ")[2].split()[0] for name in kinds if name.startswith(signal_name)}
        assert killed == words
