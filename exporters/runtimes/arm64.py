"""An ARM64 Python with the runtimes of phones, in qemu-user: where it is, how it is called, what is compiled for it.

`arm64_setup.py` fetches it. Files that hold the projection op need its library for ARM, and counting instructions needs
a plugin of qemu's: both are compiled here at first use, into the cache.
"""

import hashlib
import importlib.metadata
import json
import secrets
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from exporters.runtimes import row_jobs
from exporters.runtimes.cache import cache_folder
from models_tf.errors import InputError
from models_tf.ops.projection import tflite_loader

EMULATOR = "qemu-aarch64"
# Not `max`: qemu 7.2 then computes wrong int8 results (a fault of its SVE).
PROCESSOR = "cortex-a76"
PYTHON = "3.11"  # of Debian 12, and the last that tflite-runtime has wheels for
RUNTIMES = ("litert", "tflite-runtime", "onnxruntime")
DISTRIBUTIONS = {"litert": "ai-edge-litert", "tflite-runtime": "tflite-runtime", "onnxruntime": "onnxruntime"}
RECORD = "setup.json"
REMEDY = "export-mobile setup arm64"
# Raised when the layout of the folder changes: an older one is then no longer found.
_LAYOUT = 1
# tflite-runtime is no part of the base install, and fails with NumPy 2.
_TFLITE_RUNTIME, _NUMPY_BELOW_2 = "2.14.0", "1.26.4"
_COMPILER = "aarch64-linux-gnu-g++"
_COMPILE_SECONDS = 300
_FLAGS = ("-std=c++17", "-O2", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-pthread", "-shared")
_STATIC = ("-static-libgcc", "-static-libstdc++", "-Wl,--exclude-libs,ALL")
_CORE = ("config.cc", "text.cc", "hashing.cc", "projection.cc")
_WRAPPERS = {"projection": "c_api.cc", "tflite": "tflite_op.cc", "ort": "ort_op.cc"}
_PLUGIN = Path(__file__).with_name("count_instructions.c")


def wheels() -> dict[str, str]:
    """Versions of the ARM wheels, by distribution: those installed here."""
    found = {name: importlib.metadata.version(name) for name in ("ai-edge-litert", "onnxruntime", "flatbuffers")}
    found["tflite-runtime"] = tflite_loader.installed_version("tflite-runtime") or _TFLITE_RUNTIME
    numpy = importlib.metadata.version("numpy")
    found["numpy"] = numpy if numpy.startswith("1.") else _NUMPY_BELOW_2
    return found


def folder() -> Path:
    """Where the setup for the versions installed here is, or will be."""
    key = json.dumps([_LAYOUT, PYTHON, sorted(wheels().items())])
    return cache_folder("arm64") / hashlib.sha256(key.encode()).hexdigest()[:16]


def missing() -> str:
    """What is not there, with its remedy; "" if nothing."""
    if shutil.which(EMULATOR) is None:
        return f"{EMULATOR} (apt install qemu-user, then {REMEDY})"
    return "" if (folder() / RECORD).is_file() else f"the ARM64 runtimes ({REMEDY})"


def need() -> Path:
    """The folder of the setup; an InputError where it cannot be used."""
    lacking = missing()
    if lacking:
        raise InputError(f"ARM64 needs {lacking}. Received: none.")
    return folder()


def command(
    script: Path, arguments: Sequence[str] = (), *, options: Sequence[str] = (), packages: Sequence[Path] = ()
) -> list[str]:
    """Runs a Python script in the emulator; `options` are those of qemu, `packages` more folders to import from."""
    place = need()
    path = ":".join(str(folder) for folder in (*packages, place / "site"))
    return [
        EMULATOR,
        *options,
        *("-cpu", PROCESSOR, "-L", str(place / "root")),
        *("-E", f"PYTHONPATH={path}", "-E", f"PYTHONHOME={place / 'root' / 'usr'}"),
        # Nothing is ever written into the cache but by its setup.
        *("-E", "PYTHONDONTWRITEBYTECODE=1"),
        # Sets and dicts in another order would be other instructions.
        *("-E", "PYTHONHASHSEED=0"),
        str(place / "root" / "usr" / "bin" / f"python{PYTHON}"),
        str(script),
        *arguments,
    ]


def run_rows(
    jobs: Sequence[row_jobs.Job],
    *,
    runtime: str,
    plugin: Path | None = None,
    step: Callable[[str], None] = lambda _: None,
) -> list[row_jobs.Answer]:
    """All files in one emulated process. With the plugin, the instructions of one call are counted."""

    def emulated(log: Path) -> list[str]:
        counting = () if plugin is None else ("-plugin", str(plugin), "-d", "plugin", "-D", str(log))
        return command(row_jobs.WORKER, options=counting)

    return row_jobs.run_rows(jobs, runtime=runtime, command=emulated, step=step)


def projection_library(name: str) -> Path | str:
    """The op for ARM64, `name` is that of `models_tf.ops.projection.library`; or the reason why there is none."""
    sources = Path(tflite_loader.__file__).parent
    own = [sources / file for file in (*_CORE, _WRAPPERS[name])]
    return _compiled(
        f"libexport_mobile_{name}.so",
        [_COMPILER, *_FLAGS, *_STATIC],
        own,
        also=sorted(sources.glob("*.h")),
        package="g++-aarch64-linux-gnu",
    )


def counting_plugin() -> Path | str:
    """The plugin that counts instructions, for the emulator on this machine; or the reason why there is none."""
    helped = subprocess.run([EMULATOR, "-h"], capture_output=True, text=True, errors="replace", check=False)
    if "-plugin" not in helped.stdout + helped.stderr:
        return f"this {EMULATOR} was built without plugins"
    return _compiled("count_instructions.so", ["gcc", "-O2", "-shared", "-fPIC"], [_PLUGIN], package="gcc libc6-dev")


def _compiled(
    name: str, compiler: Sequence[str], sources: Sequence[Path], *, package: str, also: Sequence[Path] = ()
) -> Path | str:
    """Keyed by its sources and flags, so that a change is compiled again."""
    key = hashlib.sha256(" ".join(compiler).encode())
    for source in (*sources, *also):
        key.update(source.read_bytes())
    target = cache_folder("arm64-compiled") / key.hexdigest()[:16] / name
    if target.is_file():
        return target
    if shutil.which(compiler[0]) is None:
        return f"needs {compiler[0]} to compile {name} (apt install {package})"
    target.parent.mkdir(parents=True, exist_ok=True)
    made = target.with_name(f".{secrets.token_hex(4)}.so")
    try:
        done = subprocess.run(
            [*compiler, *map(str, sources), "-o", str(made)],
            capture_output=True,
            text=True,
            timeout=_COMPILE_SECONDS,
            check=False,
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no message"]
            return f"{compiler[0]} could not compile {name}: {lines[0][:200]}"
        made.replace(target)
    finally:
        made.unlink(missing_ok=True)
    return target
