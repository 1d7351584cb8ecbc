"""Measures files on this machine: processes that take turns, and what their times come to."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from exporters.benchmarking import statistics, workers
from exporters.benchmarking.request import BenchRequest, format_of
from exporters.benchmarking.result import FileBench, facts
from exporters.benchmarking.worker import Job, Loaded
from exporters.console.progress import Progress
from exporters.formats.model_file import ModelFile, Signature
from exporters.formats.tensor_names import plain_name
from exporters.formats.texts import holds_projection, takes_bytes
from models_tf.errors import InputError
from models_tf.folders.real_path import real_path


def measure(request: BenchRequest, files: Mapping[Path, ModelFile], progress: Progress) -> list[FileBench]:
    """Each file in each of its runtimes, without ratios."""
    runs = [(path, runtime, length) for path, runtime in request.jobs for length in request.lengths or (None,)]
    jobs = [
        (_job(request, path, runtime.name, files[path], length), str(path), runtime.title)
        for path, runtime, length in runs
    ]
    with workers.started(jobs) as group:
        with progress.stage("load and warm up"):
            loaded = [worker.load() for worker in group]
        _check_shapes(request, loaded)
        with progress.stage("take turns"):
            rounds = workers.take_turns(group, loaded, rounds=request.rounds, seconds=request.seconds)
        peaks = [worker.peak_bytes() for worker in group]
    return [
        FileBench(
            runtime=runtime.title,
            **facts(path, files[path], request.signature),
            **_times(one, calls),
            length=length,
            peak_bytes=peak,
        )
        for (path, runtime, length), one, calls, peak in zip(runs, loaded, rounds, peaks, strict=True)
    ]


def _job(request: BenchRequest, path: Path, runtime: str, file: ModelFile, length: int | None) -> Job:
    """What is fed is asked of the runtime."""
    signature = file.signatures[request.signature or next(iter(file.signatures))]
    return Job(
        path=str(real_path(path)),
        format=format_of(path),
        runtime=runtime,
        projection=holds_projection(file.content),
        threads=request.threads,
        signature=request.signature,
        shapes=request.shapes if length is None else shapes_at(length, signature, path),
        text=request.text,
        seed=request.seed,
        asked_by="--shape" if length is None else "--lengths",
    )


def shapes_at(length: int, signature: Signature, path: Path) -> dict[str, tuple[int, ...]]:
    """The sizes of the inputs with so many tokens: time is the second axis, and the file leaves it open."""
    found = {}
    for info in signature.inputs:
        batch, rest = info.shape[:1], info.shape[2:]
        if len(info.shape) < 2 or _is_known(info.shape[1]) or not all(map(_is_known, rest)) or takes_bytes(info):
            shown = f"{plain_name(info.name)} {list(info.shape)}"
            raise InputError(f"--lengths is for files that take any number of tokens. Received: {path} with {shown}.")
        rows = batch if _is_known(batch[0]) else (1,)
        found[plain_name(info.name)] = tuple(int(size) for size in (*rows, length, *rest))
    return found


def _is_known(size: int | str) -> bool:
    return isinstance(size, int) and size > 0


def _check_shapes(request: BenchRequest, loaded: Sequence[Loaded]) -> None:
    known = list(dict.fromkeys(each["name"] for one in loaded for each in one.fed))
    for name in request.shapes:
        if name not in known:
            raise InputError(f"--shape must name an input: {', '.join(known) or 'there is none'}. Received: {name}.")


def _times(loaded: Loaded, rounds: Sequence[dict[str, list[int]]]) -> dict[str, Any]:
    wall, cpu = ([one[clock] for one in rounds] for clock in ("wall", "cpu"))
    return {
        "inputs": tuple(loaded.fed),
        "load_ms": loaded.load_ns["wall"] * 1e-6,
        "load_cpu_ms": loaded.load_ns["cpu"] * 1e-6,
        "first_ms": loaded.first_ns["wall"] * 1e-6,
        "first_cpu_ms": loaded.first_ns["cpu"] * 1e-6,
        "warm_up": statistics.summarize(loaded.warm_up_ns),
        "wall": statistics.summarize([value for calls in wall for value in calls]),
        "cpu": statistics.summarize([value for calls in cpu for value in calls]),
        "wall_rounds_ms": statistics.medians(wall),
        "cpu_rounds_ms": statistics.medians(cpu),
        "warm_up_us": [value // 1000 for value in (loaded.first_ns["wall"], *loaded.warm_up_ns)],
        "calls_us": [value // 1000 for calls in wall for value in calls],
    }
