"""The command as a subprocess, and what is true of every folder it writes, for tests."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema

import exporters
from models_tf.folders import manifest

# The packages under test, wherever they are: beside the tests or installed.
PACKAGES = Path(exporters.__file__).resolve().parents[1]
# What every export writes beside the models, whatever they are.
DOCUMENTS = ("README.md", "examples.json", "report.html", "report.json", "report.md")
LABELS = ["book", "greet", "play"]
WORDS = [
    "play",
    "book",
    "a",
    "table",
    "for",
    "two",
    "in",
    "the",
    "morning",
    "hello",
    "What",
    "is",
    "NASA",
    "é",
    "42",
    "日本",
    "rain",
    "song",
    "by",
    "me",
    "please",
    "now",
]


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "exporters", *map(str, arguments)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PACKAGES), "PYTHONDONTWRITEBYTECODE": "1"}


def run(*arguments: object, cwd: Path, timeout: float = 300, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command in a folder, to its end."""
    return subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **options,
    )


def everything_under(folder: Path) -> list[str]:
    """All files and folders, but for the manifests, which have tests of its own."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.name not in (manifest.FILE, manifest.GROWING)
    )


def assert_examples_fit_their_schema(folder: Path) -> None:
    schema = json.loads((Path(exporters.__file__).parent / "self_test" / "examples.schema.json").read_bytes())
    document = json.loads((folder / "examples.json").read_bytes())
    jsonschema.validate(document, schema)
    assert len(document["examples"]) == 16
