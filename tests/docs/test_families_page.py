"""The table of families shows what was measured, and int8 costs at most half a point or is within the interval."""

import re
from pathlib import Path
from statistics import mean

import pytest

from models_tf import registry
from support.pages import results
from support.tiny_models import RELATIVES

PAGE = Path(__file__).parents[2] / "docs" / "families.md"
FILES = results("families")["files"]


@pytest.mark.parametrize(("family", "file"), sorted({(one["family"], one["file"]) for one in FILES}))
def test_a_row_shows_what_was_measured_with_three_seeds(family: str, file: str) -> None:
    found = sorted(
        (one for one in FILES if (one["family"], one["file"]) == (family, file)), key=lambda one: one["seed"]
    )
    assert [one["seed"] for one in found] == [0, 1, 2]
    changes = [round(-one["drop"], 2) + 0.0 for one in found]  # no -0.00
    cells = (
        family,
        f"`{file}`",
        f"{mean(one['float'] for one in found):.2f}",
        f"{mean(one['value'] for one in found):.2f}",
        f"{round(-mean(one['drop'] for one in found), 2) + 0.0:+.2f} ({min(changes):+.2f} to {max(changes):+.2f})",
        f"{found[0]['size_bytes']:,}",
    )
    assert f"| {' | '.join(cells)} |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file['family']}-{file['file']}-{file['seed']}")
def test_quantization_costs_at_most_half_a_point_or_what_chance_could(file: dict) -> None:
    assert file["passed"]
    assert file["drop"] <= 0.5 or file["interval"][0] <= file["float"] <= file["interval"][1]


def test_the_example_of_a_training_sets_keys_that_the_family_has() -> None:
    example = re.search(r"export-mobile train --model (\S+) --vocab .*?```", PAGE.read_text("utf-8"), re.DOTALL)
    assert example is not None
    keys = re.findall(r"--set (\w+)=\d+", example[0])
    assert len(keys) == 4
    assert {*keys, "n_layers"} <= {*registry.get(example[1]).family().preset()}


@pytest.mark.parametrize("family", RELATIVES)
def test_a_family_was_measured_in_both_formats_or_the_page_says_that_it_was_not(family: str) -> None:
    found = sorted({file["file"] for file in FILES if file["family"] == family})
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    (missing,) = re.findall(r"Not measured on real text yet: ([^.]*)\.", text) or [""]
    assert (family in missing.split(", ")) == (not found)
    if found:
        assert found == [
            f"model_{recipe}.{ending}" for recipe in ("int8", "int8_dynamic") for ending in ("onnx", "tflite")
        ]
