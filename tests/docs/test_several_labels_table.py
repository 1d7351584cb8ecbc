"""The table of several labels per text shows what was measured, and int8 costs at most half a point."""

from pathlib import Path

import pytest

from support.pages import results

PAGE = Path(__file__).parents[2] / "docs" / "tasks.md"
FOUND = results("several_labels")


@pytest.mark.parametrize("file", FOUND["files"], ids=lambda file: file["file"])
def test_a_row_shows_what_was_measured(file: dict) -> None:
    low, high = file["interval"]
    cells = (
        f"`{file['file']}`",
        f"{file['value']:.2f} ({low:.1f} to {high:.1f})",
        f"{-file['drop']:+.2f}",
        f"{file['macro']:.2f}",
        f"{file['size_bytes']:,}",
    )
    text = PAGE.read_text(encoding="utf-8")
    assert f"| {' | '.join(cells)} |" in text
    assert f"| float, in Keras | {file['float']:.2f} | | {file['float_macro']:.2f} | |" in text
    assert file["passed"]
    assert file["drop"] <= 0.5


def test_every_file_of_both_recipes_was_measured() -> None:
    assert sorted(file["file"] for file in FOUND["files"]) == [
        f"model_{recipe}.{ending}" for recipe in ("int8", "int8_dynamic") for ending in ("onnx", "tflite")
    ]
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert (
        f"({FOUND['labels']} kinds, {FOUND['labels_per_text']:.1f} per sentence, up to {FOUND['most_labels']})" in text
    )
