"""The table of sentence embeddings shows what was measured, and int8 is within half a point of float."""

import pytest

from support.pages import page, prose, results

MEASURED = results("sentence_embeddings")
OURS, THEIRS = "export-mobile", "sentence-transformers"


@pytest.mark.parametrize("file", MEASURED["files"], ids=lambda file: f"{file['tool']}-{file['file']}")
def test_a_row_shows_what_was_measured(file: dict) -> None:
    (low, high), (least, most) = file["interval"], file["drop_interval"]
    cells = (
        file["tool"],
        f"`{file['file']}`" if file["size_bytes"] else file["file"],
        "" if file["size_bytes"] is None else f"{file['size_bytes']:,}",
        f"{file['spearman']:.2f} ({low:.1f} to {high:.1f})",
        f"{-file['drop']:+.2f} ({-most:+.2f} to {-least:+.2f})" if file["size_bytes"] else "",
        f"{file['nearest_neighbors']:.1f} %",
        f"{file['mean_cosine']:.2f}",
    )
    assert f"| {' | '.join(cells)} |".replace("|  |", "| |") in page("docs/embeddings.md").replace("|  |", "| |")


def test_the_page_says_how_it_was_measured() -> None:
    text = prose("docs/embeddings.md")
    assert MEASURED["command"] in page("docs/embeddings.md")
    assert f"{MEASURED['n']:,} pairs" in text
    assert f"{MEASURED['sentences']:,} different sentences" in text


def test_int8_is_within_half_a_point_of_float_in_both_formats() -> None:
    ours = {file["file"]: file for file in MEASURED["files"] if file["tool"] == OURS}
    assert sorted(ours) == [
        f"model_{recipe}.{ending}" for recipe in ("int8", "int8_dynamic") for ending in ("onnx", "tflite")
    ]
    assert all(file["drop"] <= 0.5 for file in ours.values())
    assert {file["tool"] for file in MEASURED["files"]} == {OURS, THEIRS}
