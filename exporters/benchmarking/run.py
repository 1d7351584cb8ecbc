"""`bench`: how long model files take, measured side by side.

Each file runs in a process of its own, and the processes take turns, so that noise hits all alike. Leaves out what a
file computes, and phones that are not connected: times of this machine rank files and do not predict a phone.
"""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, cast

from exporters.benchmarking import here, phone, statistics
from exporters.benchmarking.request import BenchRequest, format_of
from exporters.benchmarking.result import CALL, RUN, BenchResult, FileBench
from exporters.console.progress import Progress
from exporters.formats.base import get
from exporters.formats.model_file import ModelFile
from exporters.report.versions import cpu_name, versions
from exporters.request_fields import check_request
from models_tf.errors import InputError, naming_fields

if TYPE_CHECKING:
    from exporters.formats.tflite.file import TfliteFile


@naming_fields()
def bench(request: BenchRequest, *, progress: Progress | None = None, command: str = "") -> BenchResult:
    """Measure how long model files take.

    Args:
        request: which files, runtimes and inputs.
        progress: shows the stages; by default nothing is shown.
        command: what the result says it was made with.

    Raises:
        InputError: a file cannot be read, or its runtime refuses it or crashes on it; in one line.
    """
    check_request(request, BenchRequest)
    progress = progress or Progress(quiet=True)
    with progress.stage("read files"):
        files = {path: _open(path, request.signature) for path in request.files}
    if request.adb:
        adb = phone.connect(request)
        device, sample = adb.name(), RUN
        with progress.stage(f"take turns on {device}"):
            made = phone.measure(request, {path: cast("TfliteFile", file) for path, file in files.items()}, adb)
    else:
        device, sample = cpu_name(), CALL
        made = here.measure(request, files, progress)
    progress.release()  # not before: a runtime may fail in any round, and then its line stands alone
    firsts: dict[int | None, FileBench] = {}  # the first file at each length
    for file in made:
        firsts.setdefault(file.length, file)
    return BenchResult(
        files=tuple(_compared(file, firsts[file.length]) for file in made),
        rounds=len(made[0].wall_rounds_ms),
        seconds=request.seconds,
        threads=request.threads,
        clock=request.usual_clock,
        sample=sample,
        device=device,
        versions=versions(),
        command=command,
    )


def _open(path: Path, signature: str | None) -> ModelFile:
    file: ModelFile = get(format_of(path)).open(path)
    if signature is not None and signature not in file.signatures:
        raise InputError(f"{path} must have the signature {signature}. Received: {', '.join(file.signatures)}.")
    return file


def _compared(file: FileBench, first: FileBench) -> FileBench:
    """With its ratios to the first file."""
    cpu = None
    if file.cpu_rounds_ms is not None and first.cpu_rounds_ms is not None:
        cpu = statistics.paired(file.cpu_rounds_ms, first.cpu_rounds_ms)
    wall = statistics.paired(file.wall_rounds_ms, first.wall_rounds_ms)
    return dataclasses.replace(file, wall_ratio=wall, cpu_ratio=cpu)
