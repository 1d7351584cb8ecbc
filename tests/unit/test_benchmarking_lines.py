"""The lines of TFLite's benchmark_model: written as the tool writes them, read from old and new versions of it."""

import re

import pytest

from exporters.benchmarking import benchmark_model, statistics
from exporters.benchmarking.result import FileBench

LIMITS = "and at least 0 seconds but terminate if exceeding 150 seconds."
BIG = "first=1000000 curr=2000003 min=1000000 max=2000003"


def measured(calls_us, warm_up_us=(30, 20), **options) -> FileBench:
    times = statistics.summarize([1000 * value for value in calls_us])
    values = {
        "path": "out/model.tflite",
        "runtime": "LiteRT",
        "size_bytes": 4448,
        "sha256": "0" * 64,
        "signature": None,
        "inputs": (),
        "load_ms": 0.8554,
        "load_cpu_ms": 0.8,
        "first_ms": 0.03,
        "first_cpu_ms": 0.03,
        "warm_up": times,
        "wall": times,
        "cpu": times,
        "wall_rounds_ms": (1.0,),
        "cpu_rounds_ms": (1.0,),
        "peak_bytes": 3 << 19,
        "calls_us": calls_us,
        "warm_up_us": warm_up_us,
    }
    return FileBench(**values | options)


@pytest.mark.parametrize(
    ("microseconds", "line"),
    [
        # The mean is 25, the standard deviation of all four sqrt(125) = 11.18, cut to a whole number. The tool picks
        # the value at index count * percent / 100 of the sorted ones: 0, 2 and 3.
        ([20, 10, 40, 30], "count=4 first=20 curr=30 min=10 max=40 avg=25 std=11 p5=10 median=30 p95=40"),
        ([7, 7, 7], "count=3 curr=7(all same) p5=7 median=7 p95=7"),
        ([7], "count=1 curr=7 p5=7 median=7 p95=7"),
        # C++ streams print six figures, as Python's `g` does.
        ([1_000_000, 2_000_003], f"count=2 {BIG} avg=1.5e+06 std=500001 p5=1000000 median=2000003 p95=2000003"),
    ],
)
def test_a_series_reads_as_in_the_tool(microseconds, line):
    assert benchmark_model.statistics(microseconds) == line


def test_the_log_of_a_file_has_the_lines_of_the_tool_in_its_order():
    lines = benchmark_model.log(measured([20, 10, 40, 30]), threads=2, rounds=5, seconds=150).splitlines()
    assert lines == [
        "INFO: STARTING!",
        "INFO: Log parameter values verbosely: [0]",
        "INFO: Min num runs: [5]",
        "INFO: Num threads: [2]",
        "INFO: Graph: [out/model.tflite]",
        "INFO: Signature to run: []",
        "INFO: #threads used for CPU inference: [2]",
        "INFO: Loaded model out/model.tflite",
        "INFO: The input model file size (MB): 0.004448",
        "INFO: Initialized session in 0.855ms.",
        f"INFO: Running benchmark for at least 1 iterations {LIMITS}",
        "INFO: count=2 first=30 curr=20 min=20 max=30 avg=25 std=5 p5=20 median=30 p95=30",
        "",
        f"INFO: Running benchmark for at least 5 iterations {LIMITS}",
        "INFO: count=4 first=20 curr=30 min=10 max=40 avg=25 std=11 p5=10 median=30 p95=40",
        "",
        "INFO: Inference timings in us: Init: 855, First inference: 30, Warmup (avg): 25, Inference (avg): 25",
        "INFO: Overall peak memory footprint (MB) via periodic monitoring: 1.5",
    ]


def test_what_scripts_search_for_is_found_in_our_log():
    log = benchmark_model.log(measured([20, 10, 40, 30]), threads=1, rounds=5, seconds=150)
    assert re.search(r"Inference \(avg\): ([\d.e+]+)", log)[1] == "25"
    assert re.findall(r"count=(\d+).*? avg=([\d.]+) std=(\d+)", log)[-1] == ("4", "25", "11")
    assert re.search(r"Initialized session in ([\d.]+)ms", log)[1] == "0.855"


def test_our_own_log_is_read_back():
    parsed = benchmark_model.parse(benchmark_model.log(measured([20, 10, 40, 30]), threads=1, rounds=5, seconds=150))
    assert (parsed.init_us, parsed.first_us, parsed.warm_up_us, parsed.mean_us) == (855, 30, 25, 25)
    assert parsed.median_us == 30
    assert parsed.peak_bytes == 3 << 19


OLD = """STARTING!
Num threads: [4]
Loaded model /data/local/tmp/m.tflite
Initialized session in 0.855ms.
Running benchmark for at least 1 iterations and at least 0.5 seconds but terminate if exceeding 150 seconds.
count=15 first=49060 curr=33682 min=32825 max=49060 avg=34825.1 std=3930

Running benchmark for at least 50 iterations and at least 1 seconds but terminate if exceeding 150 seconds.
count=50 first=32891 curr=33978 min=32641 max=34005 avg=33209.4 std=450

Inference timings in us: Init: 855, First inference: 49060, Warmup (avg): 34825.1, Inference (avg): 33209.4
Peak memory footprint (MB): init=0 overall=12.5
"""
NEW = """INFO: STARTING!
INFO: Running benchmark for at least 50 iterations and at least 1 seconds but terminate if exceeding 150 seconds.
INFO: count=50 first=1232891 curr=1233978 min=1232641 max=1234005 avg=1.2332e+06 std=450 p5=1 median=1233000 p95=1234001

INFO: Inference timings in us: Init: 12750, First inference: 1.4e+06, Warmup (avg): 1.3e+06, Inference (avg): 1.2332e+06
INFO: Memory footprint delta from the start of the tool (MB): init=2.25 overall=8.5
"""


def test_a_version_without_percentiles_gives_its_mean():
    parsed = benchmark_model.parse(OLD)
    assert (parsed.init_us, parsed.first_us, parsed.mean_us, parsed.median_us) == (855, 49060, 33209.4, 33209.4)
    assert parsed.peak_bytes == 12.5 * (1 << 20)


def test_a_version_with_percentiles_gives_the_median_of_the_last_series():
    parsed = benchmark_model.parse(NEW)
    assert (parsed.median_us, parsed.mean_us, parsed.first_us) == (1233000, 1233200, 1400000)
    assert parsed.peak_bytes == 8.5 * (1 << 20)


def test_output_that_ends_early_is_none_and_its_error_is_found():
    output = "INFO: STARTING!\nERROR: Encountered unresolved custom op: Foo.\nERROR: Benchmarking failed.\n"
    assert benchmark_model.parse(output) is None
    assert benchmark_model.error_line(output) == "Encountered unresolved custom op: Foo."
    assert benchmark_model.error_line("sh: not executable\n\n") == "sh: not executable"
    assert benchmark_model.error_line("") == "nothing"
