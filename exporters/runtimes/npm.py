"""Packages of npm: where they are, and how `export-mobile setup web` installs the engines that run files in a browser.

The install is complete under its name or not there at all: npm writes into a hidden folder beside it, which is renamed
once every package is there in the right version. Scripts of packages are not run.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

from exporters.runtimes.cache import PartialFolder, cache_folder
from models_tf.errors import InputError
from models_tf.processes import tied

ORT_WEB, LITERT_JS, LITERT_UTILS = "onnxruntime-web", "@litertjs/core", "@litertjs/wasm-utils"
# wasm-utils is a dependency of @litertjs/core that would otherwise come in any later version.
ENGINES = {ORT_WEB: "1.30.0", LITERT_JS: "2.5.3", LITERT_UTILS: "2.5.3"}
KIND = "web"
REMEDY = "export-mobile setup web"
_FOLDER = "node_modules"
_SECONDS = 900


def node_modules(package: str) -> Path | None:
    """The folder `node_modules` that has the package: of those in NODE_PATH as node reads it, else of the cache."""
    named = [Path(entry) for entry in os.environ.get("NODE_PATH", "").split(os.pathsep) if entry]
    return next((folder for folder in (*named, _cached()) if (folder / package / "package.json").is_file()), None)


def version(folder: Path, package: str) -> str:
    """Of a package in a folder `node_modules`; "" if there is none that can be read."""
    try:
        document = json.loads((folder / package / "package.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    found = document.get("version") if isinstance(document, dict) else None
    return found if isinstance(found, str) else ""


def setup_web() -> str:
    """Installs the engines into the cache and says in one line what is there. Does nothing if they are."""
    home = _cached().parent
    if _complete(home):
        return f"{_what()} are already in {home}"
    npm = shutil.which("npm")
    if npm is None:
        raise InputError(f"`{REMEDY}` needs npm. Received: none on the PATH. Install it (Debian package npm).")
    with PartialFolder(home) as made:
        fresh = made / home.name
        fresh.mkdir()
        _install(npm, fresh)
        _replace(home, fresh, made / "old")
    return f"{_what()} are in {home}"


def _cached() -> Path:
    return cache_folder(KIND) / _FOLDER


def _what() -> str:
    return " and ".join(f"{package} {ENGINES[package]}" for package in (ORT_WEB, LITERT_JS))


def _complete(home: Path) -> bool:
    return all(version(home / _FOLDER, package) == wanted for package, wanted in ENGINES.items())


def _install(npm: str, folder: Path) -> None:
    packages = [f"{package}@{wanted}" for package, wanted in ENGINES.items()]
    flags = ("--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", "--prefix", str(folder))
    try:
        done = subprocess.run(
            tied([npm, "install", *flags, *packages]),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"npm did not install {', '.join(packages)} within {_SECONDS} seconds. Try again.") from error
    if done.returncode or not _complete(folder):
        said = next((line for line in (done.stderr + done.stdout).splitlines() if line.strip()), "no message")
        raise InputError(
            f"npm could not install {', '.join(packages)}: is its registry reachable? "
            f"Received: exit code {done.returncode}, {said.strip()[:200]}."
        )


def _replace(home: Path, fresh: Path, old: Path) -> None:
    """Two renames. Should another setup have finished in between, its install is as good as this one."""
    try:
        if home.exists() and not _complete(home):
            home.rename(old)
        fresh.rename(home)
    except OSError:
        if not _complete(home):
            raise
