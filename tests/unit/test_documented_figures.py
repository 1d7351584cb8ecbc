"""Accuracy figures in the docs are those that the benchmark wrote."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = json.loads((ROOT / "docs" / "results" / "accuracy.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", ["README.md", "docs/prado.md"])
@pytest.mark.parametrize("name", sorted(RESULTS))
def test_a_page_shows_the_measured_accuracy_rows_and_bytes(page: str, name: str) -> None:
    result = RESULTS[name]
    (row,) = [
        line
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and f"{result['largest_size_bytes']:,}" in line
    ]
    for figure in (
        f"**{result['int8_mean']:.1f}** ({result['int8_lowest']:.1f} to {result['int8_highest']:.1f}",
        f"{result['rows']:,}",
        f"{result['float_mean']:.1f}",
    ):
        assert figure in row


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_each_figure_has_three_seeds_and_a_file_of_at_most_200_kb(name: str) -> None:
    runs = RESULTS[name]["runs"]
    assert len({run["seed"] for run in runs}) == 3
    assert all(run["size_bytes"] <= 204_800 for run in runs)
    assert all(run["float"] - run["int8"] <= 0.5 for run in runs)
