"""A benchmark as the table that the command prints."""

from collections.abc import Sequence
from pathlib import Path

from exporters.benchmarking.request import CPU
from exporters.benchmarking.result import CALL, BenchResult, FileBench
from exporters.report.tables import Table

_CLOCKS = {"cpu": "processor time", "wall": "wall-clock time"}


def blocks(result: BenchResult) -> list[str | Table]:
    """A head, the table, and what was assumed."""
    threads = "1 thread" if result.threads == 1 else f"{result.threads} threads"
    head = f"{result.rounds} rounds in turn, {threads}, {_CLOCKS[result.clock]}, {result.device}"
    lines: list[str | Table] = [head, "", Table(header=_header(result), rows=_rows(result)), ""]
    if result.sample != CALL:
        lines.append(f"Each time is the median of one {result.sample}.")
    lines.append("p95 and spread (interquartile range) are of all times; ratio to the first file, paired by round.")
    return [*lines, *_assumed(result.files)]


def _header(result: BenchResult) -> list[str]:
    other = ["wall ms"] if result.clock == CPU else []
    return [
        "file",
        "runtime",
        *(["tokens"] if _has_lengths(result) else []),
        f"{result.clock} ms",
        "p95",
        "spread",
        "ratio",
        *other,
        "load ms",
        "first answer ms",
        "memory MB",
        "file KB",
    ]


def _rows(result: BenchResult) -> list[list[str]]:
    names = labels([file.path for file in result.files])
    lengths = len({file.length for file in result.files})  # the first file has as many rows
    found = []
    for number, (name, file) in enumerate(zip(names, result.files, strict=True)):
        times, ratio = file.times(result.clock), file.ratio(result.clock)
        shown = "?" if ratio is None else f"{ratio.median:.2f} ({ratio.q1:.2f}-{ratio.q3:.2f})"
        shown = "1" if number < lengths and ratio is not None else shown
        other = [ms(file.wall.median_ms)] if result.clock == CPU else []
        found.append(
            [
                name,
                file.runtime,
                *([str(file.length)] if _has_lengths(result) else []),
                ms(times.median_ms),
                ms(times.p95_ms),
                ms(times.spread_ms),
                shown,
                *other,
                ms(file.load(result.clock)),
                ms(file.first_answer(result.clock)),
                "?" if file.peak_bytes is None else f"{file.peak_bytes / (1 << 20):.1f}",
                f"{file.size_bytes / 1024:.0f}",
            ]
        )
    return found


def _has_lengths(result: BenchResult) -> bool:
    return any(file.length is not None for file in result.files)


def labels(paths: Sequence[str]) -> list[str]:
    """The names of the files; the paths where two files share a name."""
    names = [Path(path).name for path in paths]
    if len({*names}) == len({*paths}):
        return names
    return list(paths)


def ms(value: float) -> str:
    """Three figures, and never less than whole microseconds."""
    return f"{value:.3f}" if value < 10 else f"{value:.2f}" if value < 100 else f"{value:.1f}"


def _assumed(files: Sequence[FileBench]) -> list[str]:
    """Sizes that a file leaves open, and what they were set to."""
    found = dict[str, None]()  # a file runs in several runtimes
    for name, file in zip(labels([file.path for file in files]), files, strict=True):
        if file.length is not None:
            continue  # the table says it
        opened = [f"{each['name']} {list(each['shape'])}" for each in file.inputs if each["was_open"]]
        if opened:
            found[f"{name} leaves sizes open; measured with {', '.join(opened)} (--shape NAME=SIZES changes them)."] = (
                None
            )
    return [*found]
