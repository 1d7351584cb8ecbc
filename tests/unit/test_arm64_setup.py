"""`setup arm64`: what is missing is one line, and a setup that fails leaves nothing that could pass for a good one."""

import subprocess
import sys

import pytest

from exporters.runtimes import arm64, arm64_setup
from models_tf.errors import InputError


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A PATH with programs that end as they are told to."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def write(name, script="exit 0"):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("EXPORT_MOBILE_CACHE", str(tmp_path / "cache"))
    return write


@pytest.mark.parametrize(
    ("there", "missing"),
    [((), "qemu-user"), (("qemu-aarch64",), "apt"), (("qemu-aarch64", "apt-get"), "dpkg")],
)
def test_a_missing_program_is_one_line_with_its_package(programs, tmp_path, there, missing):
    for name in there:
        programs(name)
    with pytest.raises(InputError, match=rf"`export-mobile setup arm64` needs .*Debian package {missing}\)"):
        arm64_setup.setup_arm64()
    assert not (tmp_path / "cache").exists()


def test_a_registry_that_does_not_answer_leaves_nothing(programs, tmp_path):
    for name in ("qemu-aarch64", "dpkg-deb"):
        programs(name)
    programs("apt-get", "echo 'E: Unable to locate package python3.11-minimal' >&2; exit 100")
    with pytest.raises(InputError, match=r"Received: E: Unable to locate package python3\.11-minimal"):
        arm64_setup.setup_arm64()
    assert list((tmp_path / "cache" / "arm64").iterdir()) == []
    assert "export-mobile setup arm64" in arm64.missing()


def test_half_a_setup_is_not_taken_for_a_whole_one(programs):
    """As a killed setup would leave it, were it not renamed at its end."""
    programs("qemu-aarch64")
    (arm64.folder() / "root").mkdir(parents=True)
    (arm64.folder() / "site").mkdir()
    with pytest.raises(InputError, match="ARM64 needs the ARM64 runtimes"):
        arm64.need()


def test_the_setup_of_other_versions_is_another_folder(monkeypatch):
    before = arm64.folder()
    monkeypatch.setattr(arm64, "wheels", lambda: {"onnxruntime": "0.0.1"})
    assert arm64.folder() != before


def test_the_worker_imports_nothing_of_ours():
    """It runs where only numpy and a runtime are."""
    code = f"import sys; sys.path.insert(0, {str(arm64_setup.__file__).rpartition('/')[0]!r}); import row_worker; "
    code += "print(sorted(name for name in sys.modules if name.startswith(('exporters', 'models_tf', 'quantize'))))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
