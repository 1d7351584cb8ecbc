"""What a test measures as the peak memory of a command: children that run count, children that only start do not."""

import sys
from pathlib import Path

import pytest

from support import peak_memory

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
MB = 1 << 20
LARGE = 200 * MB


def peak(script: str) -> int:
    program = f"import subprocess, sys\nlarge = b'x' * {LARGE}\n{script}"
    done = peak_memory.process([sys.executable, "-c", program])
    assert done.code == 0, done.stderr
    return done.peak_bytes


def test_a_child_that_only_starts_does_not_count_the_memory_of_its_parent_twice():
    # Held back in the moment between its birth and its own program: it looks for its program in 200,000 folders.
    script = """
folders = ":".join(f"/nowhere/{i}" for i in range(200_000))
for _ in range(5):
    try:
        subprocess.run(["nothing"], env={"PATH": folders})
    except FileNotFoundError:
        pass
"""
    assert LARGE < peak(script) < 1.5 * LARGE


def test_the_memory_of_a_child_counts():
    child = f"import time; large = b'x' * {LARGE}; time.sleep(0.5)"
    assert 2 * LARGE < peak(f"subprocess.run([sys.executable, '-c', {child!r}], check=True)") < 2.5 * LARGE
