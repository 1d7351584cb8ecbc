"""The distribution: what the wheel holds, what it needs to build, and what it says without a compiler."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from models_tf.ops.projection.library import library_path
from support.base_install import NOT_SOURCE

ROOT = Path(__file__).parents[2]
LIBRARIES = ("projection", "tf", "tflite", "ort")


def project():
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no reader for TOML")
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def checkout(tmp_path):
    return Path(shutil.copytree(ROOT, tmp_path / "checkout", ignore=NOT_SOURCE))


def build_wheel(checkout, **environment):
    """`pip wheel` with build isolation: the build environment holds setuptools and nothing else."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            ".",
            "--no-deps",
            "--wheel-dir",
            "wheels",
            "--disable-pip-version-check",
        ],
        cwd=checkout,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if "No matching distribution found for setuptools" in done.stderr:
        pytest.skip("no package index to take setuptools from")
    return done


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_library_is_installed(name):
    assert library_path(name).stat().st_size < 2_000_000


def test_classifiers_name_the_platform_and_the_python_that_ci_runs():
    classifiers = project()["classifiers"]
    pythons = [line.rpartition(" ")[2] for line in classifiers if line.startswith("Programming Language :: Python ::")]
    assert [f"python{version}" in (ROOT / ".ci/run").read_text(encoding="utf-8") for version in pythons] == [True]
    assert [line for line in classifiers if line.startswith("Operating System")] == [
        "Operating System :: POSIX :: Linux"
    ]


def test_the_only_build_requirement_is_setuptools():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r'^requires = \["([a-z-]+)[^,]*"\]', text, flags=re.MULTILINE) == ["setuptools"]


def test_every_dependency_has_a_floor_and_a_cap_that_admit_what_is_installed():
    described = project()
    for line in [*described["dependencies"], *described["optional-dependencies"]["export"]]:
        requirement = Requirement(line)
        assert {clause.operator for clause in requirement.specifier} == {">=", "<"}, line
        assert importlib.metadata.version(requirement.name) in requirement.specifier, line


@pytest.mark.exhaustive
def test_the_wheel_builds_without_tensorflow_and_holds_the_libraries_and_the_bundled_files(checkout):
    done = build_wheel(checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (checkout / "wheels").glob("*.whl")
    assert re.fullmatch(r"export_mobile-[0-9.]+(dev\d+)?-py3-none-\w+\.whl", wheel.name)
    assert not wheel.name.endswith("-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    folder = "models_tf/ops/projection"
    assert {f"{folder}/{library_path(name).name}" for name in LIBRARIES} <= names
    assert {
        f"{folder}/golden.json",
        f"{folder}/projection.h",
        "exporters/commands/main.py",
        *(f"{package}/py.typed" for package in ("exporters", "models_tf", "quantize")),
        "quantize/recipe.py",
        "exporters/example_files/web/index.html",
        "exporters/example_files/android/exportmobile/src/main/java/exportmobile/TextClassifier.java",
    } <= names
    bundled = {path.relative_to(ROOT).as_posix() for path in (ROOT / "models_tf/bundled").rglob("*") if path.is_file()}
    assert {name for name in bundled if "__pycache__" not in name} <= names
    assert not any(name.startswith(("tests/", "benchmarks/", "docs/")) for name in names)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("environment", "tried"),
    [({"CXX": "/nonexistent/c++"}, "CXX=/nonexistent/c++"), ({"CXX": "", "PATH": "/nonexistent"}, "c++, g++, clang++")],
    ids=["CXX names none", "PATH holds none"],
)
def test_without_a_compiler_the_install_fails_with_one_clear_line(checkout, environment, tried):
    done = build_wheel(checkout, **environment)
    assert done.returncode != 0
    output = done.stdout + done.stderr
    (line,) = [line.strip() for line in output.splitlines() if "export-mobile: " in line]
    assert line.startswith("export-mobile: expected a working C++17 compiler")
    assert f"received none (tried: {tried})" in line
    assert "Remedy: install g++ or clang++" in line
    # Nothing of ours around it: no trace, no half-done build.
    assert "Traceback" not in output
    assert "running build_ext" not in output
