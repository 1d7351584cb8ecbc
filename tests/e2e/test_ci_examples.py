"""examples/ci as a CI server runs it: a repository of a few files, the steps of workflow and action, the test."""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

from exporters import CheckRequest, ExportRequest, check, export
from support.export_command import PACKAGES, environment
from support.shipped_files import BUNDLED, copy_of, shuffled

CI = Path(__file__).parents[2] / "examples" / "ci"


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    """What the README's section makes: a model, rows, a baseline, a workflow."""
    folder = tmp_path_factory.mktemp("repository")
    export(ExportRequest(model="prado", quantize="int8", target="tflite", output=folder / "out"))
    copy_of(folder / "out", folder / "model", "text_int8.tflite", "labels.txt", "projection.json")
    shutil.rmtree(folder / "out")
    shutil.copy(BUNDLED / "snips" / "eval.tsv", folder / "dev.tsv")
    baseline = folder / "baseline.json"
    check(CheckRequest(model=folder / "model", data=folder / "dev.tsv", baseline=baseline, update_baseline=True))
    (folder / ".github/workflows").mkdir(parents=True)
    shutil.copy(CI / "workflow.yml", folder / ".github/workflows/model.yml")
    shutil.copy(CI / "test_model.py", folder / "test_model.py")
    return folder


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    """A folder with `export-mobile`, wherever the packages under test are."""
    folder = tmp_path_factory.mktemp("programs")
    program = folder / "export-mobile"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m exporters "$@"\n')
    program.chmod(0o755)
    (folder / "pip").write_text('#!/bin/sh\necho "$@" >> "$PIP_CALLS"\n')
    (folder / "pip").chmod(0o755)
    return folder


@pytest.fixture
def worse(repository, tmp_path) -> Path:
    folder = Path(shutil.copytree(repository, tmp_path / "worse"))
    path = folder / "model/text_int8.tflite"
    path.write_bytes(shuffled(path.read_bytes()))
    return folder


def run_step(step: str, folder: Path, programs: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """As a GitHub runner runs it."""
    variables = {"GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "PIP_CALLS": str(folder / "pip.txt"), **variables}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step],
        cwd=folder,
        env={**environment(), **variables, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


def workflow() -> tuple[dict, list[str]]:
    document = yaml.safe_load((CI / "workflow.yml").read_text())
    return document["env"], [step["run"] for step in document["jobs"]["check"]["steps"] if "run" in step]


def test_the_workflow_passes_and_fails(repository, worse, programs):
    variables, (install, gate) = workflow()
    for folder, code in ((repository, 0), (worse, 3)):
        assert run_step(install, folder, programs, **variables).returncode == 0
        assert (folder / "pip.txt").read_text() == f"install {variables['EXPORT_MOBILE']}\n"
        done = run_step(gate, folder, programs, **variables)
        assert done.returncode == code, done.stdout + done.stderr
        assert ("::error" in done.stdout) == bool(code)
        assert (folder / "summary.md").read_text().startswith("**FAIL" if code else "**PASS")
        (folder / "summary.md").unlink()
        (folder / "pip.txt").unlink()


def test_the_workflow_has_ten_lines_of_work():
    lines = [line for line in (CI / "workflow.yml").read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 13


@pytest.mark.parametrize(("given", "code"), [({}, 0), ({"max-size": "100KB"}, 4), ({"strict": "true"}, 0)])
def test_the_composite_action_runs(repository, programs, given, code):
    document = yaml.safe_load((CI / "action.yml").read_text())
    inputs = {name: str(entry.get("default", "")) for name, entry in document["inputs"].items()}
    inputs |= {"model": "model", "data": "dev.tsv", "baseline": "baseline.json", **given}
    install, gate = document["runs"]["steps"]
    variables = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: inputs[match[1]], value)
        for name, value in gate["env"].items()
    }
    assert run_step(install["run"], repository, programs, GITHUB_ACTION_PATH=str(CI)).returncode == 0
    called = (repository / "pip.txt").read_text().split()
    assert called[0] == "install"
    assert Path(called[1].strip()).resolve() == PACKAGES  # the checkout that the action is part of
    done = run_step(gate["run"], repository, programs, **variables)
    assert done.returncode == code, done.stdout + done.stderr
    (repository / "summary.md").unlink()
    (repository / "pip.txt").unlink()


def test_the_pytest_example_passes_and_fails(repository, worse):
    known = any(point.name == "export_mobile" for point in entry_points(group="pytest11"))
    plugin = [] if known else ["-p", "exporters.pytest_plugin"]
    for folder, code, words in ((repository, 0, "1 passed"), (worse, 1, "accuracy: FAIL")):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, "test_model.py"],
            cwd=folder,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert words in done.stdout
