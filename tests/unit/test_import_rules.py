"""Imports between the packages go one way: exporters -> {quantize, models_tf}, and those two stand alone.

Inside them, training and compression do not import each other, and only the program reads arguments and signals.
"""

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
    "exporters/anatomy/request.py",
    "exporters/arch_check/request.py",
    "exporters/checking/request.py",
    "exporters/commands/check.py",
    "exporters/commands/ledger.py",
    "exporters/ledgers/request.py",
    "exporters/app_code/names.py",
    "exporters/app_code/request.py",
    "exporters/commands/android.py",
    "exporters/commands/inspect.py",
    "exporters/commands/main.py",
    "exporters/commands/completion.py",
    "exporters/commands/ablate.py",
    "exporters/commands/bench.py",
    "exporters/benchmarking/request.py",
    "exporters/commands/compress.py",
    "exporters/commands/compression_flags.py",
    "exporters/commands/request_values.py",
    "exporters/commands/train.py",
    "exporters/training/request.py",
    "exporters/training/settings.py",
    "exporters/compression/request.py",
    "exporters/ablation/request.py",
    "exporters/commands/export.py",
    "exporters/commands/flags.py",
    "exporters/commands/models.py",
    "exporters/commands/parser.py",
    "exporters/commands/compare.py",
    "exporters/commands/demo.py",
    "exporters/commands/setup.py",
    "exporters/commands/verify.py",
    "exporters/demonstration/models.py",
    "exporters/demonstration/request.py",
    "exporters/demonstration/run.py",
    "exporters/demonstration/server.py",
    "exporters/demonstration/site.py",
    "exporters/runtimes/cache.py",
    "exporters/runtimes/npm.py",
    "exporters/runtimes/setup.py",
    "exporters/errors.py",
    "exporters/console/interrupt.py",
    "exporters/console/native_log.py",
    "exporters/console/cleaning.py",
    "exporters/console/progress.py",
    "exporters/console/terminal.py",
    "exporters/explanation/request.py",
    "exporters/comparison/request.py",
    "exporters/comparison/run.py",
    "exporters/comparison/text.py",
    "exporters/integrity/request.py",
    "exporters/integrity/result.py",
    "exporters/integrity/run.py",
    "exporters/profiling/request.py",
    "exporters/report/tables.py",
    "exporters/request.py",
    "exporters/request_checks.py",
    "exporters/request_choices.py",
    "exporters/request_fields.py",
    "exporters/request_record.py",
    "models_tf/errors.py",
    "models_tf/limits.py",
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


# Packages that must not import each other, whoever is in between in the folders.
APART = (("models_tf.training", "models_tf.compress"),)
# Where a program's arguments and signals may be known.
PROGRAM = ("exporters.commands", "exporters.console", "exporters.__main__")


def is_in(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def broken_rules(module: str, source: str) -> list[str]:
    """What `source`, as the module of this name, imports or reads and must not. Looks into functions too."""
    names, reads_arguments = set(), False
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and node.attr == "argv":
            reads_arguments = True
    found = []
    for pair in APART:
        for own, other in (pair, pair[::-1]):
            if is_in(module, own):
                found += [f"{module} imports {name}" for name in sorted(names) if is_in(name, other)]
    if not any(is_in(module, package) for package in PROGRAM):
        program = ("argparse", "signal", "_signal", "sys.argv")
        found += [f"{module} imports {name}" for name in sorted(names) if any(is_in(name, one) for one in program)]
        if reads_arguments:
            found.append(f"{module} reads sys.argv")
    return found


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


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_training_and_compression_are_apart_and_the_library_is_not_a_program(path):
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    assert broken_rules(module, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("models_tf.training.trainer", "from models_tf.compress import apply"),
        ("models_tf.training.trainer", "import models_tf.compress.rows"),
        ("models_tf.training.trainer", "from models_tf import compress"),
        ("models_tf.compress.rows", "def f():\n    from models_tf.training.folder import TrainingFolder"),
        ("models_tf.training.folder", "import signal"),
        ("models_tf.compress.settings", "from argparse import Namespace"),
        ("exporters.training.run", "import argparse"),
        ("exporters.pipeline", "import sys\nprint(sys.argv)"),
        ("quantize.recipe", "from sys import argv"),
    ],
)
def test_the_rules_see_an_import_that_breaks_them(module, line):
    assert len(broken_rules(module, line)) == 1


def test_the_rules_allow_what_is_needed():
    assert (
        broken_rules("exporters.training.run", "from models_tf.training import trainer\nimport models_tf.compress")
        == []
    )
    assert broken_rules("exporters.commands.train", "import argparse, signal, sys\nsys.argv") == []
    assert broken_rules("models_tf.training.trainer", "from models_tf.training import schedule") == []
