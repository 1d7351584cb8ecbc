"""The command under attack: in a child of this process, which has everything imported, or as a process of its own.

A child of a process that imported TensorFlow (and made no tensor yet) starts in milliseconds. It runs what `python -m
exporters` runs, with files for its streams, with limits, in a session of its own.
"""

import atexit
import contextlib
import importlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADDRESS_SPACE = 9 << 30
SECONDS = 240.0  # on a busy machine, too
# What the commands import sooner or later. Nothing here may make a tensor or start a thread pool.
MODULES = ("numpy", "safetensors.numpy", "tokenizers", "rich.console", "tensorflow", "tf_keras", "exporters.pipeline")
MODULES += ("onnx", "quantize.tflite.graph")
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}


@dataclass(frozen=True, kw_only=True)
class Finished:
    """How a command ended; `code` is negative for a signal, `peak_bytes` counts the largest of its processes."""

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float
    peak_bytes: int
    timed_out: bool = False
    left_processes: bool = False


def prepare() -> None:
    """Import what the commands need, so that children share it."""
    os.environ.update(QUIET | ONE_THREAD)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    for name in MODULES:
        importlib.import_module(name)
    import gc

    from exporters.commands import main

    for name in main.COMMANDS:
        main.parser_of(name)
    gc.collect()
    gc.freeze()


def run(
    arguments: Sequence[str | bytes],
    *,
    folder: Path,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    fork: bool = True,
) -> Finished:
    """Run it to its end. Streams go to files in `folder`, temporary files to `folder/tmp`, HOME is `folder/home`."""
    for name in ("tmp", "home"):
        (folder / name).mkdir(exist_ok=True)
    # No runtime of `export-mobile setup`: those are programs of others. A demo only copies them.
    bare = {"EXPORT_MOBILE_CACHE": str(folder / "home" / "cache")} | (
        {"NODE_PATH": ""} if "demo" not in arguments else {}
    )
    changes = {**bare, "TMPDIR": str(folder / "tmp"), "HOME": str(folder / "home"), **(environment or {})}
    began = time.monotonic()
    with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
        if fork:
            child = os.fork()
            if not child:
                _child([os.fsdecode(word) for word in arguments], cwd, changes, stdout.fileno(), stderr.fileno())
        else:
            process = subprocess.Popen(
                [sys.executable, "-m", "exporters", *arguments],
                cwd=cwd, env={**os.environ, **changes}, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                start_new_session=True, preexec_fn=_limit,  # noqa: PLW1509 - this process has one thread
            )  # fmt: skip
            child, process.returncode = process.pid, 0  # waited for below, not by `subprocess`
        status, usage, timed_out = _wait(child, began + seconds)
    return Finished(
        code=os.waitstatus_to_exitcode(status),
        stdout=(folder / "stdout").read_bytes(),
        stderr=(folder / "stderr").read_bytes(),
        seconds=time.monotonic() - began,
        peak_bytes=usage.ru_maxrss * 1024,
        timed_out=timed_out,
        left_processes=_end_session(child),
    )


def _child(words: list[str], cwd: Path, changes: Mapping[str, str], stdout: int, stderr: int) -> None:
    """What `python -m exporters` does; never returns."""
    code = 70  # the kit's own failure: in no set of documented codes
    try:
        os.setsid()
        os.chdir(cwd)
        os.environ.update(changes)
        import tempfile

        tempfile.tempdir = None
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        os.closerange(3, 256)
        _limit()  # when the kit's own files are closed
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        sys.argv = ["export-mobile", *words]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        atexit._clear()  # what the kit registered is the kit's
        from exporters.__main__ import main

        try:
            code = main()
        except SystemExit as leave:
            code = leave.code if isinstance(leave.code, int) else 1
    except BaseException:  # noqa: BLE001 - a traceback of the command is what the attack looks for
        import traceback

        traceback.print_exc()
        code = 1
    finally:
        with contextlib.suppress(Exception):
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _wait(child: int, deadline: float) -> tuple[int, resource.struct_rusage, bool]:
    """Status and usage; the whole session is killed if it takes too long."""
    pause, timed_out = 0.002, False
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            return status, usage, timed_out
        if time.monotonic() > deadline and not timed_out:
            timed_out = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def _end_session(leader: int) -> bool:
    """Whether a process of the command's session outlived it; none does after this."""
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):
        return False
    time.sleep(0.3)  # one that is about to end
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True
