"""The four harnesses: how each is compiled (clang, libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer) and run.

The core harness is all real. The three wrappers are the files that are shipped, driven through the functions that they
register; what stands for the runtime is named on top of each harness.
"""

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models_tf.ops.projection import config as config_module
from tests.fuzz import seeds

HERE = Path(__file__).parent
SOURCES = Path(config_module.__file__).parent
CORE = ("config.cc", "text.cc", "hashing.cc", "projection.cc")
# Harness -> the file beside the core that it drives.
DRIVEN = {"core": "c_api.cc", "tf_op": "tf_op.cc", "tflite_op": "tflite_op.cc", "ort_op": "ort_op.cc"}
# Tables of functions have the types of a C interface, which are others than those of the callee: "function" says so.
_SANITIZE = ("address,undefined", "function")
_FLAGS = ("-std=c++17", "-O1", "-gline-tables-only", "-fno-omit-frame-pointer", "-pthread", "-Wall", "-Werror")
# A single block above the last one is a finding, as is a run that holds more than the first one.
_MEMORY_MB, _BLOCK_MB = 2048, 512
_TIMEOUT_SECONDS = 20  # of one input
_LONGEST_SECONDS = 24 * 3600  # of a run


@dataclass(frozen=True, kw_only=True)
class Result:
    """What one harness showed; `finding` is what the fuzzer said of the input that ended it, or empty."""

    harness: str
    executions: int
    seconds: float
    coverage: int
    corpus: int
    finding: str = ""
    input: bytes = b""


def missing() -> str:
    """Why nothing can be compiled here, or nothing."""
    if shutil.which("clang++") is None:
        return "needs clang++ (Debian packages clang and libclang-rt-14-dev)"
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.cc"
        probe.write_text('extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n')
        command = ["clang++", "-fsanitize=fuzzer,address", str(probe), "-o", str(probe.with_suffix(""))]
        works = subprocess.run(command, capture_output=True, check=False).returncode == 0
    return "" if works else "needs libFuzzer (Debian package libclang-rt-14-dev)"


def build(folder: Path, names: Sequence[str] = tuple(DRIVEN)) -> dict[str, Path]:
    """Programs by name of the harness; the core is compiled once."""
    core = [_compile(SOURCES / name, folder) for name in CORE]
    programs = {}
    for name in names:
        parts = [_compile(HERE / f"fuzz_{name}.cc", folder), _compile(SOURCES / DRIVEN[name], folder), *core]
        programs[name] = folder / f"fuzz_{name}"
        _call(["clang++", *_FLAGS, f"-fsanitize=fuzzer,{_SANITIZE[0]}", *map(str, parts), "-o", str(programs[name])])
    return programs


def run(name: str, program: Path, folder: Path, *, runs: int, seed: int) -> Result:
    """Fuzz with a corpus of its own, from the seeds. The same seed makes the same inputs."""
    corpus, words, found = folder / f"corpus-{name}", folder / "words.txt", folder / f"finding-{name}-"
    seeds.write_corpus(corpus)
    seeds.write_dictionary(words)
    options = [f"-runs={runs}", f"-seed={seed}", f"-max_len={seeds.LONGEST_BYTES}", f"-dict={words}"]
    options += [f"-rss_limit_mb={_MEMORY_MB}", f"-malloc_limit_mb={_BLOCK_MB}", f"-timeout={_TIMEOUT_SECONDS}"]
    options += [f"-artifact_prefix={found}", "-print_final_stats=1"]
    began = time.monotonic()
    # Linux counts what the process held before `exec` as its peak, and libFuzzer takes that for its own: a process in
    # between, which starts it from little memory, keeps a large one of ours out of it.
    done = subprocess.run(
        ["timeout", str(_LONGEST_SECONDS), str(program), *options, str(corpus)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=0", "UBSAN_OPTIONS": "print_stacktrace=1"},
    )
    ended_by = next(iter(sorted(folder.glob(f"{found.name}*"))), None)
    return Result(
        harness=name,
        executions=_last(r"stat::number_of_executed_units:\s*(\d+)", done.stderr),
        seconds=round(time.monotonic() - began, 1),
        coverage=_last(r"cov: (\d+)", done.stderr),
        corpus=_last(r"corp: (\d+)", done.stderr),
        finding=_finding(done.stderr) if done.returncode else "",
        input=ended_by.read_bytes() if ended_by else b"",
    )


def version() -> str:
    """Of the compiler."""
    return subprocess.run(["clang++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def _compile(source: Path, folder: Path) -> Path:
    made = folder / f"{source.stem}.o"
    if not made.exists():
        sanitize = [f"-fsanitize=fuzzer-no-link,{_SANITIZE[0]}", f"-fno-sanitize={_SANITIZE[1]}"]
        sanitize.append("-fno-sanitize-recover=all")
        _call(["clang++", *_FLAGS, *sanitize, f"-I{SOURCES}", f"-I{HERE}", "-c", str(source), "-o", str(made)])
    return made


def _call(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-4000:]}")


def _last(pattern: str, text: str) -> int:
    return int((re.findall(pattern, text) or ["0"])[-1])


def _finding(text: str) -> str:
    marks = ("not true", "runtime error", "ERROR:", "SUMMARY:")
    lines = [line.strip() for line in text.splitlines() if any(mark in line for mark in marks)]
    return " / ".join(lines[:4])[:1000] or text[-1000:]
