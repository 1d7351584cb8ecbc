"""Arrows between the packages go one way: exporters -> {quantize, models_tf}, and those two stand alone."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED = {
    "exporters": {"exporters", "quantize", "models_tf"},
    "quantize": {"quantize"},
    "models_tf": {"models_tf"},
}
MODULES = sorted(path for package in ALLOWED for path in (ROOT / package).rglob("*.py"))
# What `--help` loads: it must answer at once, so nothing heavy at the top of these.
LIGHT = (
    "exporters/__init__.py",
    "exporters/commands/main.py",
    "exporters/commands/completion.py",
    "exporters/commands/export.py",
    "exporters/commands/flags.py",
    "exporters/commands/models.py",
    "exporters/commands/parser.py",
    "exporters/errors.py",
    "exporters/console/interrupt.py",
    "exporters/console/native_log.py",
    "exporters/console/cleaning.py",
    "exporters/console/progress.py",
    "exporters/console/terminal.py",
    "exporters/explanation/request.py",
    "exporters/profiling/request.py",
    "exporters/report/tables.py",
    "exporters/request.py",
    "exporters/request_fields.py",
    "models_tf/errors.py",
    "models_tf/folders/manifest.py",
    "models_tf/folders/open_folders.py",
    "models_tf/folders/output_folder.py",
    "models_tf/registry.py",
    "quantize/recipe.py",
)
HEAVY = {
    "tensorflow",
    "tf_keras",
    "onnx",
    "onnxruntime",
    "numpy",
    "ai_edge_litert",
    "ai_edge_quantizer",
    "tf2onnx",
    "rich",
    "shtab",
}


def imported(path: Path, *, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = set()
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            names.add(node.module or "")
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_packages_import_only_what_they_may(path):
    package = path.relative_to(ROOT).parts[0]
    own = {"exporters", "quantize", "models_tf", "tests", "benchmarks", "examples"}
    assert imported(path) & own <= ALLOWED[package]


@pytest.mark.parametrize("name", LIGHT)
def test_modules_behind_help_import_nothing_heavy(name):
    assert not imported(ROOT / name, top_level_only=True) & HEAVY


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_are_named_for_what_they_do(path):
    assert path.stem not in {"utils", "util", "common", "helpers", "misc", "onnx", "tflite", "tensorflow"}
