"""The report: exit codes by weight, JSON that any parser takes, Markdown with all sections."""

import dataclasses
import json

import pytest

from exporters.errors import AccuracyError, ParityError, SizeError
from exporters.report.report import Failure, FileRecord, Latency, Report, StageScore
from exporters.request import ExportRequest
from exporters.verification.evaluate import Score
from exporters.verification.gate import judge, remarks
from exporters.verification.parity import Parity
from exporters.verification.verify import Verification

GOOD = Parity(
    candidate="f.tflite", reference="Keras", rows=4, max_abs=1e-6, mean_abs=1e-7, argmax_agreement=1.0, limit=1e-4
)
BAD = dataclasses.replace(GOOD, max_abs=float("inf"), mean_abs=float("inf"))
FILE = FileRecord(
    name="text_int8.tflite",
    size_bytes=1000,
    sha256="0" * 64,
    target="tflite",
    graph="text",
    parameters=880,
    weight_bytes=900,
    overhead_bytes=100,
    ops={"CONV_2D": 3, "MEAN": 1},
    dtypes={"int8": 9},
)
LABELS = FileRecord(name="labels.txt", size_bytes=5000, sha256="1" * 64)
SCORE = Score(metric="accuracy", value=97.5, n=40, standard_error=2.47)


def make(**changes) -> Report:
    values = {
        "model": {
            "name": "prado",
            "task": "snips",
            "num_labels": 7,
            "parameters": 123456,
            "max_seq_len": 64,
            "feature_size": 512,
            "features": "mixed",
        },
        "quantize": "int8",
        "target": ("tflite",),
        "output": "out",
        "command": "export-mobile --model prado",
        "seed": 0,
        "data": {
            "eval_source": "eval.tsv",
            "eval_rows": 40,
            "calibration_source": "calibration.tsv",
            "calibration_rows": 9,
        },
        "files": (FILE, LABELS),
        "accuracy": (
            StageScore(stage="Keras", score=SCORE, drop=0.0),
            StageScore(stage="text_int8.tflite on LiteRT", score=dataclasses.replace(SCORE, value=95.0), drop=2.5),
        ),
        "parity": (GOOD,),
        "latency": (Latency(file=FILE.name, seq_len=32, median_ms=0.25, runs=20),),
        "latency_cpu": "some CPU",
        "gates": {"max_drop": None, "max_size_bytes": 204800},
        "failures": (),
        "notes": ("a note",),
        "versions": {"numpy": "1.26"},
        "seconds": {"convert": 4.2},
    }
    return Report(**(values | changes))


def test_a_report_without_failures_passes_with_exit_code_0():
    report = make()
    assert report.passed
    assert report.exit_code == 0
    report.raise_for_failures()


@pytest.mark.parametrize(
    ("gates", "code", "error"),
    [
        (["size"], 4, SizeError),
        (["size", "accuracy"], 3, AccuracyError),
        (["accuracy", "size", "scheme", "parity"], 5, ParityError),
    ],
)
def test_the_exit_code_is_that_of_the_most_fundamental_failure(gates, code, error):
    report = make(failures=tuple(Failure(gate=gate, message=f"{gate} is bad") for gate in gates))
    assert report.exit_code == code
    with pytest.raises(error) as caught:
        report.raise_for_failures()
    for gate in gates:
        assert f"{gate} is bad" in str(caught.value)


def test_json_holds_all_fields_and_no_infinity():
    values = json.loads(make(parity=(BAD,)).to_json(), parse_constant=pytest.fail)
    assert values["passed"] is True
    assert values["parity"][0]["max_abs"] is None
    assert values["parity"][0]["passed"] is False
    assert values["files"][0]["overhead_bytes"] == 100
    assert values["files"][0]["parameters"] == 880
    assert values["accuracy"][1]["score"]["n"] == 40
    for field in dataclasses.fields(Report):
        assert field.name in values


def test_markdown_has_every_section_and_escapes_pipes():
    text = make(notes=("a | b",), model=make().model | {"features": "a|b"}).to_markdown()
    for section in ("Files", "Accuracy", "Parity", "Latency", "Inside the files", "Gates", "Versions", "Time", "Notes"):
        assert f"## {section}" in text
    assert "a\\|b" in text
    assert "does not predict a phone" in text
    assert "97.50 % ± 2.47" in text


def test_a_correlation_is_not_called_a_percentage():
    score = Score(metric="pearson", value=87.5, n=40, standard_error=1.0, more={"spearman": 86.0})
    report = make(accuracy=(StageScore(stage="Keras", score=score, drop=0.0),))
    assert "87.50 ± 1.00" in report.to_markdown()
    assert "pearson x 100" in report.to_markdown()
    assert "spearman x 100" in report.to_markdown()
    assert "pearson x 100 87.50 ± 1.00, n = 40" in report.summary()


def test_summary_names_files_sizes_accuracy_verdict_and_folder():
    text = make(failures=(Failure(gate="size", message="too big"),)).summary()
    assert "text_int8.tflite" in text
    assert "1,000 bytes" in text
    assert "(-2.50)" in text
    assert "FAILED (size): out" in text


def verified(*parities) -> Verification:
    return Verification(parities=parities, scores=make().accuracy, notes=())


def test_the_gate_collects_all_failures():
    failures = judge(
        ExportRequest(max_drop=0.5, max_size_bytes=999),
        verified(BAD, GOOD, BAD),
        files=(FILE, LABELS),
        scheme_problems=["float tensor x"],
    )
    assert [failure.gate for failure in failures] == ["parity", "parity", "scheme", "accuracy", "size"]
    assert "Received: 2.50" in failures[3].message
    assert "Received: 1000" in failures[4].message


def test_limits_that_are_just_met_pass():
    request = ExportRequest(max_drop=2.5, max_size_bytes=1000)
    assert not judge(request, verified(GOOD), files=(FILE,), scheme_problems=[])


def test_accuracy_and_size_are_judged_only_when_asked_for():
    assert not judge(ExportRequest(), verified(GOOD), files=(FILE,), scheme_problems=[])


def test_a_large_loss_is_remarked_even_without_a_limit():
    lost = dataclasses.replace(
        verified(), scores=(*make().accuracy[:1], dataclasses.replace(make().accuracy[1], drop=9.0))
    )
    assert "loses 9.00 points" in remarks(lost)[0]
    assert remarks(verified()) == ()  # 2.5 points are within two standard errors of 40 rows


TOKENS = {
    "name": "mobilebert",
    "task": "classification",
    "trained": False,
    "num_labels": 2,
    "parameters": 24581888,
    "max_seq_len": 128,
    "inputs": ["ids", "mask"],
    "fold": "full",
    "rewrites": ["fold_norms (full)", "scale_query"],
    "mask_value": -47.0,
}


def test_markdown_of_a_token_model_names_rewrites_inputs_mask_and_missing_training():
    more = dataclasses.replace(SCORE, more={"f1": 88.5, "matthews": 76.25})
    text = make(model=TOKENS, accuracy=(StageScore(stage="Keras", score=more, drop=0.0),)).to_markdown()
    for words in (
        "**untrained",
        "fold_norms (full), scale_query",
        "ids, mask",
        "-47",
        "f1",
        "88.50",
        "matthews",
        "76.25",
    ):
        assert words in text
    assert "features" not in text


def test_the_summary_of_random_weights_says_so_beside_the_verdict():
    assert "passed (untrained: random weights" in make(model=TOKENS).summary()
    assert "untrained" not in make(model=TOKENS | {"trained": True}).summary()


def test_what_the_export_removed_stands_in_the_summary_and_the_report():
    removed = {
        "layers": {"kept": [0, 1], "dropped": [2]},
        "heads": {"kept": [[3, 0], [1]]},
        "neurons": {"kept_counts": [32, 16]},
        "ghosts": {"heads": [2, 3], "folds": [1, 1], "on": "heads"},
        "parameters": {"before": 2000, "after": 1200},
    }
    report = make(model=TOKENS | {"compression": removed})
    line = "2 of 3 layers, heads 2 1, FFN 32 16, ghosts 2 3 and 1 1; parameters 2,000 -> 1,200, not trained since"
    assert f"compressed: {line}\n" in report.summary()
    assert f"| compressed | {line} |" in report.to_markdown()
    assert "compressed: " not in make(model=TOKENS).summary()


def test_the_summary_gives_relative_parity_relative():
    row = dataclasses.replace(GOOD, max_abs=3e-4, limit=3e-3, scale=30.0)
    assert "1.0e-05 of the largest answer" in make(parity=(row,)).summary()
    assert "of the largest answer" not in make().summary()
