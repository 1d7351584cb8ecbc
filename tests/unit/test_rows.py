"""Rows: what measures and what calibrates, and that they never mix."""

import numpy as np
import pytest

from exporters.data import rows
from exporters.data.text_rows import TextReader, TextRows
from exporters.request import ExportRequest
from models_tf.errors import InputError

LABELS = ["a", "b", "c"]


def table(path, pairs, header="text\tlabel"):
    path.write_text(header + "\n" + "".join(f"{text}\t{label}\n" for text, label in pairs))
    return path


def project(texts):
    return np.array([len(text) for text in texts], np.int64)[:, None, None]


def load(request, *, labels=LABELS, multi_label=False, calibrate=True):
    reader = TextReader(
        labels=labels,
        multi_label=multi_label,
        project=project,
        columns=request.columns,
        label_separator=request.label_separator,
    )
    return rows.load(request, reader, calibrate=calibrate)


PAIRS = [(f"text {i}", "abc"[i % 3]) for i in range(100)]


def test_one_file_is_split_by_text_into_disjoint_parts(tmp_path):
    request = ExportRequest(checkpoint=tmp_path, eval_data=table(tmp_path / "e.tsv", PAIRS + PAIRS))
    loaded = load(request)
    measured, calibrating = loaded.evaluation, loaded.calibration
    assert not set(measured.keys) & set(calibrating.keys)
    assert len(measured) + len(calibrating) == 200
    assert len(measured.targets) == len(measured)
    assert "split by text" in loaded.notes[0]
    assert [LABELS[t] for t in measured.targets] == [dict(PAIRS)[text] for text in measured.keys]


def test_a_recipe_without_calibration_measures_on_all_rows(tmp_path):
    loaded = load(ExportRequest(checkpoint=tmp_path, eval_data=table(tmp_path / "e.tsv", PAIRS)), calibrate=False)
    assert len(loaded.evaluation) == 100
    assert loaded.calibration is None
    assert loaded.describe()["calibration_rows"] == 0


def test_calibration_data_calibrates_and_eval_data_measures(tmp_path):
    request = ExportRequest(
        checkpoint=tmp_path,
        eval_data=table(tmp_path / "e.tsv", PAIRS),
        calibration_data=table(tmp_path / "c.tsv", [("other", "a")]),
    )
    loaded = load(request)
    assert loaded.calibration.keys == ["other"]
    assert len(loaded.evaluation) == 100


def test_many_calibration_rows_are_sampled_by_the_seed(tmp_path):
    path = table(tmp_path / "c.tsv", [(f"text {i}", "a") for i in range(2000)])
    first, again, other = (load(ExportRequest(checkpoint=tmp_path, calibration_data=path, seed=s)) for s in (1, 1, 2))
    assert len(first.calibration) == rows.MAX_CALIBRATION_ROWS
    assert first.calibration.keys == again.calibration.keys != other.calibration.keys
    assert not first.evaluation.labelled
    assert "Accuracy is not measured" in first.notes[0]


def test_static_int8_without_any_data_is_refused(tmp_path):
    with pytest.raises(InputError, match="--calibration-data"):
        load(ExportRequest(checkpoint=tmp_path))


def test_max_drop_without_labels_is_refused(tmp_path):
    with pytest.raises(InputError, match="--max-drop needs"):
        load(ExportRequest(checkpoint=tmp_path, quantize="float32", max_drop=1.0), calibrate=False)


def test_a_checkpoint_without_data_is_verified_on_generated_texts(tmp_path):
    loaded = load(ExportRequest(checkpoint=tmp_path, quantize="float32"), calibrate=False)
    assert len(loaded.evaluation) == 64
    assert loaded.source == "generated"


def test_a_label_that_the_model_lacks_is_named_with_its_row(tmp_path):
    path = table(tmp_path / "e.tsv", [("x", "a"), ("y", "z")])
    with pytest.raises(InputError, match=r"line 3.*no label 'z'.*a, b, c"):
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
    np.testing.assert_array_equal(loaded.evaluation.targets, [[1, 0, 1], [0, 0, 0], [0, 1, 0]])


def test_labels_are_split_as_in_training(tmp_path):
    path = table(tmp_path / "e.tsv", [("x", "a ; c"), ("y", ";"), ("z", "b")])
    request = ExportRequest(checkpoint=tmp_path, eval_data=path, label_separator=";")
    loaded = load(request, multi_label=True, calibrate=False)
    np.testing.assert_array_equal(loaded.evaluation.targets, [[1, 0, 1], [0, 0, 0], [0, 1, 0]])


def test_a_label_that_holds_the_separator_can_come_from_a_json_list(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_text('{"text": "x", "label": ["a|b", "c"]}\n{"text": "y", "label": []}\n')
    request = ExportRequest(checkpoint=tmp_path, eval_data=path)
    loaded = load(request, labels=["a|b", "c"], multi_label=True, calibrate=False)
    np.testing.assert_array_equal(loaded.evaluation.targets, [[1, 1], [0, 0]])


def test_an_empty_label_separator_is_refused():
    with pytest.raises(InputError, match="`label_separator`"):
        ExportRequest(label_separator="")


def test_the_bundled_rows_of_both_parts_are_disjoint():
    for task in ("snips", "clinc150"):
        request = ExportRequest(task=task)
        folder = request.checkpoint_folder
        reader = TextReader(labels=(), multi_label=False, project=project)
        texts = {name: set(reader.read_texts(folder / f"{name}.tsv").keys) for name in ("eval", "calibration")}
        assert texts["eval"]
        assert not texts["eval"] & texts["calibration"]


def test_few_rows_get_a_note_and_many_do_not() -> None:
    def noted(count: int) -> str:
        texts = TextRows(keys=[f"text {i}" for i in range(count)], targets=np.zeros(count), project=project)
        made = rows.Rows(evaluation=texts, source="f", calibration=texts, calibration_source="g")
        return " ".join(rows.few_rows(made))

    assert "Only 20 rows measure: one more or less that is right makes some 5.0 points." in noted(20)
    assert "Only 20 rows calibrate" in noted(20)
    assert noted(rows.FEW_ROWS) == ""


def test_chunks_hold_all_inputs_and_are_smaller_for_long_sequences(monkeypatch):
    monkeypatch.setattr("exporters.data.text_rows._CHUNK_BYTES", 80)  # ten rows of one int64
    texts = TextRows(keys=[f"text {i}" for i in range(25)], targets=None, project=project)
    chunks = list(texts.chunks(256))
    assert [len(chunk["text"]) for chunk in chunks] == [10, 10, 5]
    assert [len(chunk["features"]) for chunk in texts.chunks(4)] == [4, 4, 4, 4, 4, 4, 1]


def test_calibration_rows_come_one_at_a_time_with_the_inputs_asked_for_and_can_be_read_twice():
    texts = TextRows(keys=["a", "bcd"], targets=None, project=project)
    made = rows.Rows(evaluation=texts, source="", calibration=texts, calibration_source="")
    feeds = rows.calibration_feeds(made, ("features",))
    for _ in range(2):
        assert [{name: value.tolist() for name, value in feed.items()} for feed in feeds()] == [
            {"features": [[[1]]]},
            {"features": [[[3]]]},
        ]
    assert (
        rows.calibration_feeds(rows.Rows(evaluation=texts, source="", calibration=None, calibration_source=""), ())
        is None
    )


def test_eval_rows_measure_on_the_first_rows_and_calibrate_on_as_many_as_before(tmp_path):
    file = table(tmp_path / "e.tsv", PAIRS)
    whole = load(ExportRequest(checkpoint=tmp_path, eval_data=file))
    fewer = load(ExportRequest(checkpoint=tmp_path, eval_data=file, eval_rows=7))
    assert fewer.evaluation.keys == whole.evaluation.keys[:7]
    assert fewer.calibration.keys == whole.calibration.keys
    assert fewer.describe()["eval_rows"] == 7
    assert f"first 7 of {len(whole.evaluation)} rows" in " ".join(fewer.notes)


def test_eval_rows_never_part_the_rows_of_one_key(tmp_path):
    pairs = [(f"text {i // 4}", "abc"[i % 3]) for i in range(40)]
    request = ExportRequest(checkpoint=tmp_path, eval_data=table(tmp_path / "e.tsv", pairs), eval_rows=5)
    assert load(request, calibrate=False).evaluation.keys == [text for text, _ in pairs[:8]]


def test_more_eval_rows_than_there_are_is_all_of_them(tmp_path):
    request = ExportRequest(checkpoint=tmp_path, eval_data=table(tmp_path / "e.tsv", PAIRS), eval_rows=1000)
    loaded = load(request, calibrate=False)
    assert len(loaded.evaluation) == 100
    assert loaded.notes == ()


def test_many_rows_of_a_token_model_come_with_the_way_out(tmp_path):
    request = ExportRequest(checkpoint=tmp_path, eval_data=table(tmp_path / "e.tsv", PAIRS * 21))
    loaded = load(request, calibrate=False)
    assert rows.count(loaded, "tokens") == "2100 rows (for fewer: --eval-rows N)"
    assert rows.count(loaded, "projection") == "2100 rows"


def test_a_model_can_ask_for_fewer_rows_to_calibrate_with(tmp_path):
    request = ExportRequest(checkpoint=tmp_path, eval_data=table(tmp_path / "e.tsv", PAIRS))
    reader = TextReader(labels=LABELS, multi_label=False, project=project)
    fewer = rows.load(request, reader, calibrate=True, calibrating=5)
    assert len(fewer.calibration) == 5
    assert fewer.evaluation.keys == load(request).evaluation.keys
