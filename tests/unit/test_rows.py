"""Rows: what measures and what calibrates, and that they never mix."""

import numpy as np
import pytest

from exporters import rows
from exporters.request import ExportRequest
from models_tf.errors import InputError

LABELS = ["a", "b", "c"]


def table(path, pairs, header="text\tlabel"):
    path.write_text(header + "\n" + "".join(f"{text}\t{label}\n" for text, label in pairs))
    return path


def load(request, *, multi_label=False, calibrate=True):
    return rows.load(request, LABELS, multi_label, calibrate=calibrate)


PAIRS = [(f"text {i}", "abc"[i % 3]) for i in range(100)]


def test_one_file_is_split_by_text_into_disjoint_parts(tmp_path):
    request = ExportRequest(checkpoint=tmp_path, eval_data=table(tmp_path / "e.tsv", PAIRS + PAIRS))
    loaded = load(request)
    assert not set(loaded.texts) & set(loaded.calibration_texts)
    assert len(loaded.texts) + len(loaded.calibration_texts) == 200
    assert len(loaded.targets) == len(loaded.texts)
    assert "split by text" in loaded.notes[0]
    assert [LABELS[t] for t in loaded.targets] == [dict(PAIRS)[text] for text in loaded.texts]


def test_a_recipe_without_calibration_measures_on_all_rows(tmp_path):
    loaded = load(ExportRequest(checkpoint=tmp_path, eval_data=table(tmp_path / "e.tsv", PAIRS)), calibrate=False)
    assert len(loaded.texts) == 100
    assert loaded.calibration_texts == []


def test_calibration_data_calibrates_and_eval_data_measures(tmp_path):
    request = ExportRequest(
        checkpoint=tmp_path,
        eval_data=table(tmp_path / "e.tsv", PAIRS),
        calibration_data=table(tmp_path / "c.tsv", [("other", "a")]),
    )
    loaded = load(request)
    assert loaded.calibration_texts == ["other"]
    assert len(loaded.texts) == 100


def test_many_calibration_rows_are_sampled_by_the_seed(tmp_path):
    path = table(tmp_path / "c.tsv", [(f"text {i}", "a") for i in range(2000)])
    first, again, other = (load(ExportRequest(checkpoint=tmp_path, calibration_data=path, seed=s)) for s in (1, 1, 2))
    assert len(first.calibration_texts) == rows.MAX_CALIBRATION_ROWS
    assert first.calibration_texts == again.calibration_texts != other.calibration_texts
    assert first.targets is None
    assert "Accuracy is not measured" in first.notes[0]


def test_static_int8_without_any_data_is_refused(tmp_path):
    with pytest.raises(InputError, match="--calibration-data"):
        load(ExportRequest(checkpoint=tmp_path))


def test_max_drop_without_labels_is_refused(tmp_path):
    with pytest.raises(InputError, match="--max-drop needs"):
        load(ExportRequest(checkpoint=tmp_path, quantize="float32", max_drop=1.0), calibrate=False)


def test_a_checkpoint_without_data_is_verified_on_generated_texts(tmp_path):
    loaded = load(ExportRequest(checkpoint=tmp_path, quantize="float32"), calibrate=False)
    assert len(loaded.texts) == 64
    assert loaded.source == "generated"


def test_a_label_that_the_model_lacks_is_named_with_its_row(tmp_path):
    path = table(tmp_path / "e.tsv", [("x", "a"), ("y", "z")])
    with pytest.raises(InputError, match=r"row 3.*no label 'z'.*a, b, c"):
        load(ExportRequest(checkpoint=tmp_path, eval_data=path))


def test_one_label_only_is_refused(tmp_path):
    path = table(tmp_path / "e.tsv", [(f"x{i}", "a") for i in range(9)])
    with pytest.raises(InputError, match="at least 2 different labels"):
        load(ExportRequest(checkpoint=tmp_path, eval_data=path))


def test_a_header_without_rows_is_refused(tmp_path):
    with pytest.raises(InputError, match="rows under its header"):
        load(ExportRequest(checkpoint=tmp_path, eval_data=table(tmp_path / "e.tsv", [])))


def test_too_few_texts_to_split_are_refused(tmp_path):
    path = table(tmp_path / "e.tsv", [("x", "a"), ("x", "b")])
    with pytest.raises(InputError, match="too few"):
        load(ExportRequest(checkpoint=tmp_path, eval_data=path))


def test_several_labels_a_row_become_a_table(tmp_path):
    path = table(tmp_path / "e.tsv", [("x", "a|c"), ("y", ""), ("z", "b")])
    loaded = load(ExportRequest(checkpoint=tmp_path, eval_data=path), multi_label=True, calibrate=False)
    np.testing.assert_array_equal(loaded.targets, [[1, 0, 1], [0, 0, 0], [0, 1, 0]])


def test_labels_are_split_as_in_training(tmp_path):
    path = table(tmp_path / "e.tsv", [("x", "a ; c"), ("y", ";"), ("z", "b")])
    request = ExportRequest(checkpoint=tmp_path, eval_data=path, label_separator=";")
    loaded = load(request, multi_label=True, calibrate=False)
    np.testing.assert_array_equal(loaded.targets, [[1, 0, 1], [0, 0, 0], [0, 1, 0]])


def test_a_label_that_holds_the_separator_can_come_from_a_json_list(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_text('{"text": "x", "label": ["a|b", "c"]}\n{"text": "y", "label": []}\n')
    loaded = rows.load(ExportRequest(checkpoint=tmp_path, eval_data=path), ["a|b", "c"], True, calibrate=False)
    np.testing.assert_array_equal(loaded.targets, [[1, 1], [0, 0]])


def test_an_empty_label_separator_is_refused():
    with pytest.raises(InputError, match="--label-separator"):
        ExportRequest(label_separator="")


def test_the_bundled_rows_of_both_parts_are_disjoint():
    for task in ("snips", "clinc150"):
        request = ExportRequest(task=task)
        folder = request.checkpoint_folder
        texts = {
            name: {row.text for row in rows._read(folder / f"{name}.tsv", request)} for name in ("eval", "calibration")
        }
        assert texts["eval"]
        assert not texts["eval"] & texts["calibration"]


def test_few_rows_get_a_note_and_many_do_not() -> None:
    def noted(count: int) -> str:
        texts = [f"text {i}" for i in range(count)]
        made = rows.Rows(
            texts=texts, targets=np.zeros(count), source="f", calibration_texts=texts, calibration_source="g"
        )
        return " ".join(rows.few_rows(made))

    assert "Only 20 rows measure accuracy: one of them is 5.0 points." in noted(20)
    assert "Only 20 rows calibrate" in noted(20)
    assert noted(rows.FEW_ROWS) == ""
