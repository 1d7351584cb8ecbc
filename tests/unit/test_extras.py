"""The base install: which modules it imports, and what a command says whose extra is missing.

The extras are hidden from a separate process. `tests/e2e/test_base_install.py` hides nothing: it installs the base.
"""

import fnmatch
import json
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from models_tf import extras
from support.export_command import PACKAGES, environment

ROOT = Path(__file__).parents[2]
HIDDEN = [*(name for modules in extras.MODULES.values() for name in modules), "keras", "transformers"]
# Modules that compute with TensorFlow, and only those; they are imported when a command's work starts.
COMPUTING = (
    "models_tf.compress.*",
    "models_tf.encoder.*",
    "models_tf.layers.*",
    "models_tf.training.*",
    "models_tf.*.model",
    "models_tf.ops.projection.layer",
    "models_tf.tasks.losses",
    "exporters.training.tokens",
)
BASE = [
    name
    for package in ("exporters", "models_tf", "quantize")
    for path in sorted((PACKAGES / package).rglob("*.py"))
    if path.stem != "__main__"
    for name in [".".join(path.relative_to(PACKAGES).with_suffix("").parts).removesuffix(".__init__")]
    if not any(fnmatch.fnmatchcase(name, pattern) for pattern in COMPUTING)
]
NEEDS_EXPORT = {
    "export": ["--model", "prado"],
    "train": ["train", "--train", "rows.tsv", "--dev", "rows.tsv", "--output", "out"],
    "compress": ["compress", "--checkpoint", "bert", "--drop-layers", "top:1", "--output", "out"],
    "ablate": ["ablate", "--checkpoint", "bert", "--data", "rows.tsv"],
    "profile": ["profile", "--model", "bert", "--random-init"],
    "explain": ["explain", "--checkpoint", "bert", "--text", "hello"],
}


def without_extras(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    hide = f"import sys; sys.modules.update(dict.fromkeys({HIDDEN}))\n"
    return subprocess.run(
        [sys.executable, "-c", hide + code], cwd=cwd, env=environment(), capture_output=True, text=True, check=False
    )


def command(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return without_extras(f"from exporters.commands.main import main; sys.exit(main({arguments}))", cwd)


def test_every_module_that_reads_runs_and_reports_is_imported_without_the_extras(tmp_path):
    code = f"""
import importlib, json
failed = {{}}
for name in {BASE}:
    try:
        importlib.import_module(name)
    except ImportError as error:
        failed[name] = str(error)
print(json.dumps(failed))
"""
    done = without_extras(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {}


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["models"], *([n, "--help"] for n in ("train", "compress"))]
)
def test_what_needs_no_extra_works_without(arguments, tmp_path):
    done = command(arguments, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("name", NEEDS_EXPORT)
def test_a_command_whose_extra_is_missing_says_so_in_one_line_before_it_starts(name, tmp_path):
    (tmp_path / "rows.tsv").write_text("text\tlabel\nhello\ta\n", encoding="utf-8")
    done = command(NEEDS_EXPORT[name], tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert f"needs {', '.join(extras.MODULES[extras.EXPORT])}, which are not installed" in line
    assert 'pip install "export-mobile[export]"' in line
    assert [path.name for path in tmp_path.iterdir()] == ["rows.tsv"]


def test_every_public_name_is_imported_without_the_extras(tmp_path):
    done = without_extras("import exporters; print([getattr(exporters, name) for name in exporters.__all__])", tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_python_function_raises_the_same_line(tmp_path):
    code = """
from exporters import ExportRequest, InputError, export
try:
    export(ExportRequest(model="prado", output="out"))
except InputError as error:
    print(error)
"""
    done = without_extras(code, tmp_path)
    assert 'pip install "export-mobile[export]"' in done.stdout, done.stderr
    assert not any(tmp_path.iterdir())


def test_an_import_that_fails_on_the_way_names_its_extra():
    assert (
        str(extras.explain(ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")))
        == 'This needs torch, which is not installed: pip install "export-mobile[torch]".'
    )
    assert extras.explain(ModuleNotFoundError("No module named 'elsewhere'", name="elsewhere")) is None


def test_the_modules_of_an_extra_are_those_that_pyproject_lists():
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no reader for TOML")
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for extra, modules in extras.MODULES.items():
        assert [Requirement(line).name.replace("-", "_") for line in listed[extra]] == list(modules)
