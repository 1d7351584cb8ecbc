"""The table of lengths in docs/performance.md is what was measured."""

import pytest

from support.pages import ROOT, prose, results

MEASURED = results("lengths")
LINES = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8").splitlines()
RUNTIMES = {"tflite": "LiteRT", "onnx": "ONNX Runtime"}


@pytest.mark.parametrize("file", MEASURED["files"], ids=lambda file: f"{file['target']} {file['recipe']}")
def test_the_row_of_a_file_is_what_was_measured(file: dict) -> None:
    time, right = file["mean_ms"], file["right"]
    row = (
        f"| {RUNTIMES[file['target']]} | {file['recipe']} | {time['own']:.2f} | {time['padded']:.2f} "
        f"| {file['ratio']:.2f} | {right['own']} | {right['padded']} | {file['same_answer']} |"
    )
    assert row in LINES
    assert file["ratio"] == pytest.approx(time["own"] / time["padded"], abs=0.001)


def test_the_page_names_the_command() -> None:
    assert MEASURED["command"] in prose("docs/performance.md")
