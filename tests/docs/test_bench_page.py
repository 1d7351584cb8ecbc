"""The table in docs/bench.md is what was measured."""

import pytest

from exporters.benchmarking.text import ms
from support.pages import ROOT, results

MEASURED = results("bench_prado")
LINES = (ROOT / "docs" / "bench.md").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("file", MEASURED["files"], ids=lambda file: f"{file['path']} on {file['runtime']}")
def test_the_row_of_a_file_is_what_was_measured(file):
    (row,) = (line for line in LINES if line.startswith(file["path"]) and f" {file['runtime']} " in line)
    ratio, first = file["cpu_ratio"], file == MEASURED["files"][0]
    expected = [
        *(ms(file["cpu"][name]) for name in ("median_ms", "p95_ms", "spread_ms")),
        "1" if first else f"{ratio['median']:.2f} ({ratio['q1']:.2f}-{ratio['q3']:.2f})",
        ms(file["wall"]["median_ms"]),
        ms(file["load_cpu_ms"]),
        ms(file["load_cpu_ms"] + file["first_cpu_ms"]),
        f"{file['peak_bytes'] / (1 << 20):.1f}",
        f"{file['size_bytes'] / 1024:.0f}",
    ]
    assert row.split(file["runtime"])[1].split() == " ".join(expected).split()


def test_the_page_shows_the_command_and_its_rounds():
    assert MEASURED["command"] in " ".join(LINES)
    assert f"{MEASURED['rounds']} rounds in turn, 1 thread, processor time, {MEASURED['device']}" in LINES
