"""Fetches an ARM64 Python and the ARM wheels of the runtimes into the cache. Installs nothing, needs no root.

Packages come by name from Debian's registry and from PyPI, in the versions installed here. The folder appears complete
or not at all. Leaves out compiling (`arm64.py`), which happens at first use.
"""

import getpass
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from exporters.runtimes import arm64
from exporters.runtimes.cache import PartialFolder
from models_tf.errors import InputError
from models_tf.processes import tied

_PROGRAMS = {arm64.EMULATOR: "qemu-user", "apt-get": "apt", "dpkg-deb": "dpkg"}
_DEBIAN = (f"python{arm64.PYTHON}-minimal", f"libpython{arm64.PYTHON}-stdlib", "libstdc++6", "zlib1g")
_PLATFORMS = ("manylinux_2_34", "manylinux_2_28", "manylinux_2_27", "manylinux2014")
# Runtimes choose kernels by this file; it must say what `-cpu` says.
_CPUINFO = {
    "processor": "0",
    "Features": "fp asimd aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp",
    "CPU implementer": "0x41",
    "CPU architecture": "8",
    "CPU variant": "0x4",
    "CPU part": "0xd0b",
    "CPU revision": "1",
}
_INSTALL = "Install it (Debian package"
_SECONDS = 900  # of one call of a program: 90 MB are fetched, over any line


def setup_arm64() -> str:
    """Fetches what is not there yet, and says in one line what is there."""
    place = arm64.folder()
    what = f"Python {arm64.PYTHON} for ARM64 with " + ", ".join(f"{name} {one}" for name, one in arm64.wheels().items())
    if (place / arm64.RECORD).is_file():
        return f"{what} are already in {place}"
    for program, package in _PROGRAMS.items():
        if shutil.which(program) is None:
            raise InputError(f"`{arm64.REMEDY}` needs {program}. Received: none on the PATH. {_INSTALL} {package}).")
    if not _has_pip():
        raise InputError(f"`{arm64.REMEDY}` needs pip in this Python. Received: none. Run python -m ensurepip.")
    with PartialFolder(place) as partial:
        made = partial / place.name
        made.mkdir()
        record = {"python": _root(made), "wheels": arm64.wheels()}
        _site(made)
        _try(made)
        (made / arm64.RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        try:
            made.rename(place)
        except OSError:  # another setup was quicker: its folder is as good
            if not (place / arm64.RECORD).is_file():
                raise
    return f"{what} are in {place}"


def _root(place: Path) -> list[str]:
    """Unpacks Debian's packages into `root`; their file names, which have the versions in them."""
    apt, root = place / "apt", place / "root"
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True)
    options = [
        *("-o", f"Dir::State={apt}", "-o", "Dir::State::status=/dev/null", "-o", f"Dir::Cache={apt / 'cache'}"),
        *("-o", "APT::Architecture=arm64", "-o", "APT::Architectures::=arm64"),
        *("-o", f"APT::Sandbox::User={getpass.getuser()}"),
    ]
    _call(["apt-get", *options, "-qq", "update"], "reach a Debian registry that has arm64")
    install = ["-qq", "install", "-y", "--download-only", "--no-install-recommends", *_DEBIAN]
    _call(["apt-get", *options, *install], f"find {_DEBIAN[0]} for arm64, which is in Debian 12")
    packages = sorted((apt / "cache" / "archives").glob("*.deb"))
    (root / "proc").mkdir(parents=True)
    for package in packages:
        _call(["dpkg-deb", "-x", str(package), str(root)], f"unpack {package.name}")
    cpu = "".join(f"{name}\t: {value}\n" for name, value in _CPUINFO.items())
    (root / "proc" / "cpuinfo").write_text(cpu, encoding="utf-8")
    shutil.rmtree(apt)
    return [package.name for package in packages]


def _site(place: Path) -> None:
    fetched = place / "wheels"
    platforms = [part for name in _PLATFORMS for part in ("--platform", f"{name}_aarch64")]
    _call(
        [
            *(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"),
            *("--disable-pip-version-check", "--python-version", arm64.PYTHON, "-d", str(fetched)),
            *(*platforms, "--platform", "any"),
            *(f"{name}=={version}" for name, version in arm64.wheels().items()),
        ],
        "find the ARM64 wheels of the versions installed here",
    )
    for wheel in sorted(fetched.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place / "site")
    shutil.rmtree(fetched)


def _try(place: Path) -> None:
    """A root that cannot start Python is no setup."""
    python = place / "root" / "usr" / "bin" / f"python{arm64.PYTHON}"
    emulator = [arm64.EMULATOR, "-cpu", arm64.PROCESSOR, "-L", str(place / "root")]
    emulator += ["-E", f"PYTHONPATH={place / 'site'}", "-E", f"PYTHONHOME={place / 'root' / 'usr'}"]
    # Also writes the byte code, which an emulated Python would otherwise make at every start.
    for module in ("ai_edge_litert.interpreter", "tflite_runtime.interpreter", "onnxruntime"):
        _call([*emulator, str(python), "-c", f"import {module}"], f"import {module} in the emulator")


def _call(command: Sequence[str], purpose: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(
            tied(command),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"`{arm64.REMEDY}` must {purpose}. Received: no answer of {command[0]} in {_SECONDS} s."
        ) from error
    if done.returncode:
        lines = [line for line in done.stderr.strip().splitlines() if "WARNING" not in line] or ["no message"]
        raise InputError(f"`{arm64.REMEDY}` must {purpose}. Received: {lines[0][:300].rstrip('.')}.")


def _has_pip() -> bool:
    return subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0
