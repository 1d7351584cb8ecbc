"""The lines of TFLite's benchmark_model: written from our own times, and read from the binary's output.

Written in the shape of the current tool, so that scripts that read its log also read ours: wall-clock microseconds as
whole numbers, and percentiles as it picks them, without interpolation. Read from every version since 2.0.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from exporters.benchmarking.result import FileBench

_NUMBER = r"([\d.]+(?:e[+-]?\d+)?)"
_TIMINGS = re.compile(
    rf"Inference timings in us: Init: {_NUMBER}, First inference: {_NUMBER}, Warmup \(avg\): {_NUMBER}, "
    rf"Inference \(avg\): {_NUMBER}"
)
_COUNT = re.compile(rf"count=(\d+)(?: .*?)? median={_NUMBER} p95={_NUMBER}")
_PEAK = (
    re.compile(rf"Overall peak memory footprint \(MB\) via periodic monitoring: {_NUMBER}"),
    re.compile(rf"emory footprint (?:delta from the start of the tool )?\(MB\): init={_NUMBER} overall={_NUMBER}"),
)
_ERROR = re.compile(r"^(?:ERROR|FATAL): (.+)$", re.MULTILINE)


def log(file: FileBench, *, threads: int, rounds: int, seconds: float) -> str:
    """What benchmark_model would print of this file."""
    timings = (
        f"Inference timings in us: Init: {round(1000 * file.load_ms)}, First inference: {file.warm_up_us[0]}, "
        f"Warmup (avg): {_mean(file.warm_up_us)}, Inference (avg): {_mean(file.calls_us)}"
    )
    lines = [
        "STARTING!",
        "Log parameter values verbosely: [0]",
        f"Min num runs: [{rounds}]",
        f"Num threads: [{threads}]",
        f"Graph: [{file.path}]",
        f"Signature to run: [{file.signature or ''}]",
        f"#threads used for CPU inference: [{threads}]",
        f"Loaded model {file.path}",
        f"The input model file size (MB): {file.size_bytes / 1e6:g}",
        f"Initialized session in {round(1000 * file.load_ms) / 1000:g}ms.",
        _running(1, seconds),
        f"{statistics(file.warm_up_us)}\n",
        _running(rounds, seconds),
        f"{statistics(file.calls_us)}\n",
        timings,
    ]
    if file.peak_bytes is not None:
        lines.append(f"Overall peak memory footprint (MB) via periodic monitoring: {file.peak_bytes / (1 << 20):g}")
    return "".join(f"INFO: {line}\n" for line in lines)


def _running(least: int, seconds: float) -> str:
    return (
        f"Running benchmark for at least {least} iterations and at least 0 seconds but terminate if exceeding "
        f"{seconds:g} seconds."
    )


def statistics(microseconds: Sequence[int]) -> str:
    """The line of one series: with equal values it is a shorter one, as in the tool."""
    ordered, count = sorted(microseconds), len(microseconds)
    picked = [ordered[count * percent // 100] for percent in (5, 50, 95)]
    if ordered[0] == ordered[-1]:
        head = f"count={count} curr={microseconds[-1]}{'(all same)' if count > 1 else ''}"
    else:
        mean = sum(microseconds) / count
        deviation = math.sqrt(max(0.0, sum(value * value for value in microseconds) / count - mean * mean))
        head = (
            f"count={count} first={microseconds[0]} curr={microseconds[-1]} min={ordered[0]} max={ordered[-1]} "
            f"avg={mean:g} std={int(deviation)}"
        )
    return f"{head} p5={picked[0]} median={picked[1]} p95={picked[2]}"


def _mean(values: Sequence[int]) -> str:
    return f"{sum(values) / len(values):g}"


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """One run of the binary, in microseconds. Older ones print no median: then it is the mean."""

    init_us: float
    first_us: float
    warm_up_us: float
    mean_us: float
    median_us: float
    peak_bytes: int | None


def parse(output: str) -> Parsed | None:
    """The figures in the output of one run; None if it did not get as far as to print them."""
    timings = _TIMINGS.search(output)
    if timings is None:
        return None
    init, first, warm_up, mean = map(float, timings.groups())
    series = _COUNT.findall(output)
    median = float(series[-1][1]) if series else mean
    return Parsed(
        init_us=init, first_us=first, warm_up_us=warm_up, mean_us=mean, median_us=median, peak_bytes=_peak(output)
    )


def error_line(output: str) -> str:
    """What the binary said was wrong, else its last words."""
    errors = _ERROR.findall(output)
    return str(errors[0] if errors else ([*filter(str.strip, output.splitlines())] or ["nothing"])[-1]).strip()


def _peak(output: str) -> int | None:
    for pattern in _PEAK:
        found = pattern.search(output)
        if found is not None and float(found.groups()[-1]) > 0:
            return round(float(found.groups()[-1]) * (1 << 20))
    return None
