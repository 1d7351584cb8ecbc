"""A virtual environment that holds the wheel of this checkout and what it depends on, without any extra."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_SOURCE = shutil.ignore_patterns(".*", "build", "dist", "tests", "*.so", "*.dylib", "*.egg-info", "__pycache__")


def base_environment(folder: Path) -> Path:
    """Made in `folder`; returns its folder of programs. The test is skipped where pip has no package index."""
    checkout = shutil.copytree(ROOT, folder / "checkout", ignore=NOT_SOURCE)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    programs = folder / "venv/bin"
    done = subprocess.run(
        [programs / "pip", "install", "--disable-pip-version-check", checkout],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if "No matching distribution found for setuptools" in done.stderr:
        pytest.skip("no package index to install from")
    assert done.returncode == 0, done.stdout + done.stderr
    return programs
