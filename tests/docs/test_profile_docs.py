"""The example in docs/profile.md is what was measured, and its sums are exact."""

from pathlib import Path

import pytest

from exporters.profiling.chart import percent
from support.pages import prose, results

ROOT = Path(__file__).parents[2]
MEASURED = results("profile_minilm")
LINES = (ROOT / "docs" / "profile.md").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("part", MEASURED["parts"], ids=lambda part: part["part"])
def test_the_page_shows_the_measured_figures_of_a_part(part: dict) -> None:
    (row,) = [line for line in LINES if line.startswith(f"| {part['part']} | {part['parameters']:,} |")]
    assert f"| {part['multiply_adds']:,} |" in row
    for file in MEASURED["files"]:
        time = file["timing"]["parts"][part["part"]]
        spread = f"({100 * time['share_low']:.1f}-{100 * time['share_high']:.1f})"
        assert f"| {file['part_bytes'][part['part']]:,} | {time['ms']:.3f} | {percent(time['share'])} {spread} |" in row


def test_the_page_names_command_rounds_and_both_files() -> None:
    page = prose("docs/profile.md")
    assert f"`{MEASURED['command']}`" in page
    assert f"{MEASURED['rounds']} rounds" in page
    for file in MEASURED["files"]:
        assert f"{file['timing']['whole_ms']:.3f} ms as a whole" in page
        assert sum(file["part_bytes"].values()) + file["graph_bytes"] == file["size_bytes"]
    assert MEASURED["parameters"] == sum(part["parameters"] for part in MEASURED["parts"])
