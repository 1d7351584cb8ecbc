"""Every file that was read is in the report with its SHA-256, and none that was not."""

import dataclasses
import hashlib

import pytest

from exporters.data.rows import GENERATED, Rows
from exporters.data.text_rows import TextRows
from exporters.report.inputs import input_records
from exporters.request import ExportRequest

EXAMPLES = TextRows(keys=["a"], targets=None, project=None)


@pytest.fixture
def files(tmp_path):
    made = {}
    for name in ("config.json", "model.safetensors", "eval.tsv", "calibration.tsv", "vocab.txt"):
        made[name] = tmp_path / name
        made[name].write_text(name * 1000, encoding="utf-8")
    return made


def test_checkpoint_rows_and_further_data_are_listed_with_their_sums(files):
    rows = Rows(
        evaluation=EXAMPLES,
        source=str(files["eval.tsv"]),
        calibration=EXAMPLES,
        calibration_source=str(files["calibration.tsv"]),
    )
    checkpoint = [files["config.json"], files["model.safetensors"]]
    found = input_records(ExportRequest(), checkpoint, rows)
    assert [(one.role, one.path) for one in found] == [
        ("checkpoint", "config.json"),
        ("checkpoint", "model.safetensors"),
        ("eval_data", str(files["eval.tsv"])),
        ("calibration_data", str(files["calibration.tsv"])),
    ]
    for record in found:
        content = next(path for path in files.values() if path.name == record.path.rpartition("/")[2]).read_bytes()
        assert (record.size_bytes, record.sha256) == (len(content), hashlib.sha256(content).hexdigest())


def test_a_file_that_was_split_is_listed_once_and_made_up_rows_not_at_all(files):
    split = Rows(
        evaluation=EXAMPLES,
        source=str(files["eval.tsv"]),
        calibration=EXAMPLES,
        calibration_source=str(files["eval.tsv"]),
    )
    assert [one.role for one in input_records(ExportRequest(), [], split)] == ["eval_data"]
    generated = dataclasses.replace(split, source=GENERATED, calibration_source=GENERATED)
    assert input_records(ExportRequest(), [], generated) == ()


def test_the_files_of_a_folder_of_records_are_listed_one_by_one(files, tmp_path):
    rows = Rows(evaluation=EXAMPLES, source=str(tmp_path), calibration=None, calibration_source="not needed")
    assert len(input_records(ExportRequest(), [], rows)) == len(files)
