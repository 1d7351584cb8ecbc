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


FORMATS = json.loads((ROOT / "docs" / "results" / "mobilebert_formats.json").read_text(encoding="utf-8"))
REWRITES = json.loads((ROOT / "docs" / "results" / "rewrites.json").read_text(encoding="utf-8"))


def rows_of(page: str, *beginning: str) -> list[str]:
    start = "| " + " | ".join(beginning) + " |"
    return [line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith(start)]


@pytest.mark.parametrize("file", FORMATS["files"], ids=lambda file: f"{file['target']}-{file['recipe']}")
def test_the_table_of_formats_shows_what_was_measured(file: dict) -> None:
    (row,) = rows_of("docs/mobilebert.md", file["target"], file["recipe"])
    for figure in (
        f"{file['size_bytes']:,}",
        f"{file['max_abs']:.2g}",
        f"{100 * file['argmax_agreement']:.1f} %",
        f"{file['accuracy']:.2f} ± {file['standard_error']:.2f}",
        f"{file['latency_ratio']['median']:.2f} (",
    ):
        assert figure in row


def test_static_int8_loses_at_most_one_point_in_both_formats() -> None:
    drops = [file["drop"] for file in FORMATS["files"] if file["recipe"] == "int8"]
    assert len(drops) == 2
    assert max(drops) <= 1.0


@pytest.mark.parametrize("part", ["together", "single"])
def test_the_table_of_rewrites_shows_what_was_measured(part: str) -> None:
    measured = REWRITES[part]
    for name, result in measured["variants"].items():
        if name == "none":
            continue
        (row,) = rows_of("docs/mobilebert.md", name, str(measured["layers"]))
        assert f"| {result['litert']['ratio']:.3f} (" in row
        assert f"| {result['onnxruntime']['ratio']:.3f} (" in row
