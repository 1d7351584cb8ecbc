"""F4: the memory of `check` and `export` does not grow with the rows of a file; children are counted."""

import shutil
from pathlib import Path

import pytest

from exporters import ExportRequest, export
from models_tf import limits
from support.export_command import LABELS, WORDS
from support.peak_memory import command

pytestmark = pytest.mark.slow
MB = 1 << 20
FEW = 20_000
# Two runs of one command differ by up to 35 MB (of TensorFlow's own 900). Rows are long, so that ten times as many take
# 300 MB more where all of them are kept.
ROW_WORDS = 99
MOST_GROWTH = 100 * MB


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> list[Path]:
    """The same rows once and ten times."""
    folder = tmp_path_factory.mktemp("tables")
    rows = "".join(
        f"{' '.join(WORDS[(i * k) % len(WORDS)] for k in range(1, ROW_WORDS + 1))} {i}\t{LABELS[i % len(LABELS)]}\n"
        for i in range(FEW)
    )
    for times in (1, 10):
        (folder / f"{times}.tsv").write_text("text\tlabel\n" + times * rows, encoding="utf-8")
    return [folder / "1.tsv", folder / "10.tsv"]


def growth(*lines: list) -> int:
    one, ten = (command(line) for line in lines)
    assert (one.code, ten.code) == (0, 0), one.stderr + ten.stderr
    return ten.peak_bytes - one.peak_bytes


def test_check_takes_the_same_memory_for_ten_times_the_rows(tiny_checkpoint, tables, tmp_path):
    export(ExportRequest(checkpoint=tiny_checkpoint, output=tmp_path / "out", quantize="int8-dynamic", target="tflite"))
    file = tmp_path / "out" / "features_int8_dynamic.tflite"
    assert growth(*(["check", file, "--data", table, "--limit", "rows=500"] for table in tables)) < MOST_GROWTH


def test_export_takes_the_same_memory_for_ten_times_the_rows_of_both_kinds(tiny_checkpoint, tables, tmp_path):
    line = ["--checkpoint", tiny_checkpoint, "--quantize", "int8", "--target", "onnx", "--limit", "rows=500", "--force"]
    lines = [[*line, "--eval-data", table, "--calibration-data", table, "--output", tmp_path / "x"] for table in tables]
    assert growth(*lines) < MOST_GROWTH
    shutil.rmtree(tmp_path / "x")


def test_an_export_says_that_it_was_measured_on_a_sample(tiny_checkpoint, tables, tmp_path):
    request = ExportRequest(
        checkpoint=tiny_checkpoint, eval_data=tables[0], output=tmp_path / "x", quantize="float32", target="onnx"
    )
    with limits.override(rows=300):
        report = export(request)
    assert any("300 of 20,000 rows are used, a sample with seed 0" in note for note in report.notes)
    assert report.data["eval_rows"] == 300
