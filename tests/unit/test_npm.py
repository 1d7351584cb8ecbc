"""Packages of npm: found as node finds them, and installed whole or not at all."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from exporters.commands import main as cli
from exporters.runtimes import npm
from exporters.runtimes.cache import cache_folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EXPORT_MOBILE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NODE_PATH", raising=False)
    return tmp_path / "cache"


def package(folder: Path, name: str, version: str = "1.2.3") -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "package.json").write_text(json.dumps({"name": name, "version": version}))
    return folder


def fake_npm(folder: Path, script: str, monkeypatch) -> None:
    """A program `npm` on the PATH; its arguments are those of the real one."""
    folder.mkdir()
    (folder / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


INSTALLS = f"""
for spec in {" ".join(f"{name}@{version}" for name, version in npm.ENGINES.items())}; do
  case " $* " in *" $spec "*) ;; *) exit 8 ;; esac
  name=${{spec%@*}}; mkdir -p node_modules/$name
  echo "{{\\"version\\": \\"${{spec##*@}}\\"}}" > node_modules/$name/package.json
done
"""


def test_the_folder_that_the_variable_names_comes_before_the_users_own(tmp_path, monkeypatch):
    assert cache_folder("web") == tmp_path / "cache" / "web"
    monkeypatch.delenv("EXPORT_MOBILE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder("web") == tmp_path / "xdg" / "export-mobile" / "web"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder("web") == tmp_path / "home" / ".cache" / "export-mobile" / "web"


def test_folders_of_node_path_come_first_in_their_order_then_the_cache(tmp_path, monkeypatch, cache):
    assert npm.node_modules("some") is None
    kept = package(cache / "web" / "node_modules", "some")
    assert npm.node_modules("some") == kept
    first, second = package(tmp_path / "a", "@scope/other"), package(tmp_path / "b", "some")
    monkeypatch.setenv("NODE_PATH", f"{first}{os.pathsep}{os.pathsep}{second}")
    assert npm.node_modules("some") == second
    assert npm.node_modules("@scope/other") == first


def test_setup_installs_exact_versions_once(tmp_path, monkeypatch, cache, capsys):
    fake_npm(tmp_path / "bin", INSTALLS, monkeypatch)
    assert cli.main(["setup", "web"]) == 0
    assert npm.node_modules(npm.ORT_WEB) == npm.node_modules(npm.LITERT_JS) == cache / "web" / "node_modules"
    (tmp_path / "bin" / "npm").write_text("#!/bin/sh\nexit 7\n")
    assert cli.main(["setup", "web"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert f"{npm.LITERT_JS} {npm.ENGINES[npm.LITERT_JS]} are in" in first
    assert "already" in second
    assert [path.name for path in cache.iterdir()] == ["web"]


def test_an_install_of_another_version_is_replaced(tmp_path, monkeypatch, cache):
    package(cache / "web" / "node_modules", npm.ORT_WEB, "0.0.1")
    fake_npm(tmp_path / "bin", INSTALLS, monkeypatch)
    npm.setup_web()
    assert npm.version(cache / "web" / "node_modules", npm.ORT_WEB) == npm.ENGINES[npm.ORT_WEB]
    assert [path.name for path in cache.iterdir()] == ["web"]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'npm error network is down' >&2; exit 1", "exit code 1, npm error network is down"),
        ("mkdir -p node_modules/onnxruntime-web", "exit code 0, no message"),  # said yes, and left half
    ],
)
def test_an_install_that_fails_is_one_line_and_leaves_nothing(script, said, tmp_path, monkeypatch, cache, capsys):
    fake_npm(tmp_path / "bin", script, monkeypatch)
    assert cli.main(["setup", "web"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert list(cache.iterdir()) == []


def test_without_npm_the_remedy_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli.main(["setup", "web"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "needs npm" in line


def test_an_unknown_kind_is_one_line(capsys):
    assert cli.main(["setup", "wob"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "KIND must be one of arm64, web. Received: wob. Did you mean web?" in line


def test_node_resolves_the_same_folder(tmp_path, monkeypatch):
    """NODE_PATH means to node what it means here; skips where there is no node."""
    import shutil

    if shutil.which("node") is None:
        pytest.skip("needs node (Debian package nodejs)")
    folders = [package(tmp_path / "a", "other"), package(tmp_path / "b", "some"), package(tmp_path / "c", "some")]
    monkeypatch.setenv("NODE_PATH", os.pathsep.join(map(str, folders)))
    for folder in folders:
        for inner in folder.iterdir():
            (inner / "index.js").write_text("")
    script = "console.log(require.resolve('some'))"
    found = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert Path(found.strip()).parent.parent == npm.node_modules("some") == folders[1]
