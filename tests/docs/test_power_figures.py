"""Figures in docs/powerbert.md are those that `benchmarks/power.py` wrote."""

from pathlib import Path
from typing import Any

import pytest

from support.pages import page, prose, results

ROOT = Path(__file__).parents[2]
PAGE, PROSE = page("docs/powerbert.md"), prose("docs/powerbert.md")
RESULTS = {name: results(f"power_{name}") for name in ("imdb", "sst2")}
MODELS = [(name, model) for name, result in RESULTS.items() for model in result["models"]]


def ratio(values: dict[str, Any]) -> str:
    return f"{values['median']:.2f} ({values['low']:.2f} to {values['high']:.2f})"


@pytest.mark.parametrize(("name", "model"), MODELS)
def test_a_table_shows_what_was_measured(name: str, model: str) -> None:
    values = RESULTS[name]["models"][model]
    table = PAGE.partition(f"<!-- table: docs/results/power_{name}.json -->")[2].partition("\n\n")[0].splitlines()
    (row,) = [line for line in table if line.startswith(f"| {model} |")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1] == (" ".join(map(str, values["retention"])) or "all")
    assert cells[2] == f"{values['multiply_adds_ratio']:.2f}"
    assert cells[3] == f"{values['float_accuracy']:.2f} ± {values['standard_error']:.2f}"
    assert cells[4:6] == [f"{values['int8'][target]['accuracy']:.2f}" for target in ("tflite", "onnx")]
    assert cells[6:] == [
        ratio(values[recipe][target]["latency_ratio"])
        for recipe in ("float32", "int8")
        for target in ("tflite", "onnx")
    ]


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_the_page_says_how_many_rows_were_measured_and_how(name: str) -> None:
    result = RESULTS[name]
    assert result["command"] in PROSE
    assert {values["rows"] for values in result["models"].values()} == {result["models"]["dense"]["rows"]}
    assert f"{result['models']['dense']['rows']:,} rows" in PROSE
