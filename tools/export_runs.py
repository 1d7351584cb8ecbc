"""Runs the cases of `compare_exports.py` on one revision, checked out and compiled, in one process per case.

The folder of a run holds `checkout`, `inputs`, `cases/<name>` (what a case wrote), `printed` and `records`. A record is
written last and says what the case was made of, so a killed run continues, and a changed case is run again. Only the
command line of a revision is used; where its modules are does not matter.
"""

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from export_cases import Case

ROOT = Path(__file__).resolve().parents[1]
WORKTREE = "WORKTREE"
TIMEOUT_SECONDS = 900
# Needed for the same bytes from the same commit: sums and sets in one order.
PINNED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
}
# Distributions that can change a file: results are kept for one set of their versions.
DISTRIBUTIONS = (
    "ai-edge-litert", "ai-edge-quantizer", "flatbuffers", "numpy", "onnx", "onnxruntime", "protobuf", "safetensors",
    "tensorflow", "tf-keras", "tf2onnx", "tflite-runtime", "tokenizers",
)  # fmt: skip
LIBRARY_SOURCES = (".cc", ".h")
LIBRARIES = (".so", ".dylib")


class RunError(Exception):
    """A revision that is unknown, does not compile or is not the one that Python imports."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a case ended. If it `failed`, nothing was written to compare, and `error` is its last line."""

    exit_code: int
    seconds: float
    error: str

    @property
    def failed(self) -> bool:
        return self.exit_code < 0 or self.exit_code in (1, 2)  # 3 to 6 are gates: the files are there


@dataclass(frozen=True, kw_only=True)
class Run:
    """One revision in its folder. `keys` identify what each case is made of."""

    folder: Path
    libraries: Path
    tree: str
    keys: Mapping[str, str]

    @property
    def checkout(self) -> Path:
        return self.folder / "checkout"

    def output(self, case: Case) -> Path:
        return self.folder / "cases" / case.name

    def printed(self, case: Case) -> Path:
        return self.folder / "printed" / f"{case.name}.txt"

    def recorded(self, case: Case) -> Outcome | None:
        """The outcome of an earlier run of the same case. A failed one is tried again."""
        try:
            record = json.loads(self._record(case).read_text())
        except (OSError, ValueError):
            return None
        outcome = Outcome(**record["outcome"])
        return None if outcome.failed or record["key"] != self.keys[case.name] else outcome

    def prepare(self, inputs: Mapping[str, bytes]) -> None:
        """Puts inputs, files and compiled libraries where the cases expect them."""
        for name, content in inputs.items():
            path = self.folder / "inputs" / name
            if not path.is_file() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        if not self.checkout.is_dir():
            with tempfile.TemporaryDirectory(dir=self.folder) as place:
                checkout = Path(place, "checkout")
                _unpack(self.tree, checkout)
                _add_libraries(checkout, self.libraries)
                checkout.rename(self.checkout)
        command = [sys.executable, "-c", "import exporters; print(exporters.__file__)"]
        options: dict[str, Any] = {"capture_output": True, "text": True, "env": self.environment()}
        found = subprocess.run(command, cwd=self.folder, check=False, **options).stdout.strip()
        if not Path(found).is_relative_to(self.checkout):
            raise RunError(f"Python must import the files of {self.checkout}. Received: {found or 'nothing'}.")

    def run(self, case: Case, launcher: "Launcher") -> Outcome:
        """Runs the case in an empty folder."""
        folder, printed, said = self.output(case), self.printed(case), self.printed(case).with_suffix(".err")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        printed.parent.mkdir(exist_ok=True)
        begin = time.monotonic()
        code = launcher.run(case.arguments, folder, printed, said)
        error = ""
        if code:
            error = said.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
        outcome = Outcome(exit_code=code, seconds=round(time.monotonic() - begin, 1), error=error)
        _write(self._record(case), json.dumps({"key": self.keys[case.name], "outcome": vars(outcome)}))
        return outcome

    def environment(self) -> dict[str, str]:
        found = {name: value for name, value in os.environ.items() if name != "COLUMNS"}  # help wraps at it
        return {**found, **PINNED, "PYTHONPATH": str(self.checkout)}

    def _record(self, case: Case) -> Path:
        return self.folder / "records" / f"{case.name}.json"


class Launcher:
    """A process that has TensorFlow loaded and runs one command of a checkout at a time."""

    def __init__(self, run: Run) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("export_launcher.py"))],
            cwd=run.folder,
            env=run.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, arguments: Sequence[str], folder: Path, stdout: Path, stderr: Path) -> int:
        """The exit code of the command; negative if a signal ended it, as one does after a time limit."""
        if self._process.stdin is None or self._process.stdout is None:
            raise ValueError("A launcher has pipes.")
        wanted = {"arguments": arguments, "folder": str(folder), "stdout": str(stdout), "stderr": str(stderr)}
        try:
            self._process.stdin.write(json.dumps(wanted) + "\n")
            self._process.stdin.flush()
            child = int(self._process.stdout.readline())
            watch = threading.Timer(TIMEOUT_SECONDS, os.kill, (child, signal.SIGKILL))
            watch.start()
            try:
                return int(self._process.stdout.readline())
            finally:
                watch.cancel()
        except (BrokenPipeError, ValueError) as error:
            raise RunError(f"{folder.parents[1]}: the process that runs its commands ended.") from error

    def close(self) -> None:
        """Ends the process when its command is done."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def open_run(work: Path, role: str, tree: str, keys: Mapping[str, str]) -> Run:
    """The run of a tree below `work`. Reference and candidate have separate folders even for one tree: a revision
    compared with itself runs twice.
    """
    folder = work / f"{role}-{tree[:12]}-{_environment()}"
    folder.mkdir(parents=True, exist_ok=True)
    return Run(folder=folder, libraries=work / "libraries", tree=tree, keys=keys)


def find_tree(revision: str) -> str:
    """The id of all files of a revision, or of the files in the work tree that are not ignored."""
    if revision != WORKTREE:
        return _git("rev-parse", "--verify", "--quiet", f"{revision}^{{tree}}", what=f"revision {revision}").strip()
    with tempfile.TemporaryDirectory() as place:
        index = {"GIT_INDEX_FILE": str(Path(place, "index"))}
        _git("read-tree", "HEAD", environment=index)
        _git("add", "--all", environment=index)
        return _git("write-tree", environment=index).strip()


def keys_of(cases: tuple[Case, ...], inputs: Mapping[str, bytes]) -> dict[str, str]:
    """For each case, a hash of its command, the inputs it reads and the cases it needs."""
    found: dict[str, str] = {}
    for case in cases:
        read = {
            name: hashlib.sha256(content).hexdigest()
            for name, content in inputs.items()
            if any(name == wanted or name.startswith(f"{wanted}/") for wanted in case.inputs)
        }
        found[case.name] = _hash([case.arguments, read, [found[name] for name in case.needs]])
    return found


def _git(*arguments: str, environment: Mapping[str, str] | None = None, what: str = "") -> str:
    done = subprocess.run(
        ["git", *arguments],  # noqa: S607 - the user's git
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RunError(f"git knows no {what}." if what else f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def _unpack(tree: str, folder: Path) -> None:
    packed = subprocess.run(["git", "archive", tree], cwd=ROOT, capture_output=True, check=True).stdout  # noqa: S607
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")


def _add_libraries(checkout: Path, kept: Path) -> None:
    """Adds the compiled libraries, from an earlier build of the same sources or by the checkout's own setup.py."""
    sources = [path for path in sorted(checkout.rglob("*")) if path.suffix in LIBRARY_SOURCES]
    content = {str(path.relative_to(checkout)): path.read_bytes().hex() for path in (*sources, checkout / "setup.py")}
    folder = kept / _hash(content)
    if not folder.is_dir():
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RunError(f"setup.py build_ext must compile the libraries. Received: {done.stderr.strip()}")
        shutil.rmtree(checkout / "build", ignore_errors=True)
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept) as place:
            built = [path for path in checkout.rglob("*") if path.suffix in LIBRARIES]
            for path in built:
                _copy(path, Path(place, "built") / path.relative_to(checkout))
            Path(place, "built").rename(folder)
    shutil.copytree(folder, checkout, dirs_exist_ok=True)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _environment() -> str:
    found = [sys.version]
    for name in DISTRIBUTIONS:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return _hash([found, PINNED])[:8]


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
