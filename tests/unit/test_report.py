"""The report: exit codes by weight, JSON that any parser takes, Markdown with all sections."""

import dataclasses
import json

import pytest

from exporters.errors import AccuracyError, ParityError, SizeError
from exporters.report.report import Failure, Report, StageScore
from exporters.request import ExportRequest
from exporters.verification.evaluate import Score
from exporters.verification.gate import judge, remarks
from exporters.verification.verify import Verification
from support.reports import BAD, FILE, GOOD, LABELS, SCORE, make


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
    for section in ("Accuracy", "Parity", "Latency", "Inside the files", "How it was made"):
        assert f"<summary><b>{section}</b></summary>" in text
    for section in ("Notes", "Changed answers"):
        assert f"## {section}" in text
    for words in ("limit max_size_bytes", "| numpy | 1.26 |", "| convert | 4.2 |"):
        assert words in text
    assert "a&#124;b" in text
    assert "a &#124; b" in text
    assert "does not predict a phone" in text
    assert "| Keras | 97.50 % | 87.12 to 99.56 | +0.00 | 40 |" in text


def test_a_correlation_is_not_called_a_percentage():
    score = Score(
        metric="pearson", value=87.5, n=40, standard_error=1.0, more={"spearman": 86.0}, interval=(80.0, 91.25)
    )
    report = make(accuracy=(StageScore(stage="Keras", score=score, drop=0.0),), quality=())
    assert "| 87.50 | 80.00 to 91.25 |" in report.to_markdown()
    assert "pearson x 100" in report.to_markdown()
    assert "spearman x 100" in report.to_markdown()
    assert "pearson x 100 87.50 (95 % interval 80.00 to 91.25), n = 40" in report.summary()
    assert "87.50 %" not in report.to_markdown() + report.to_html() + report.summary()


def test_summary_names_files_sizes_accuracy_verdict_and_folder():
    text = make(failures=(Failure(gate="size", message="too big"),)).summary()
    assert "file              bytes  gzip  accuracy   95 % interval  change     ms\n" in text
    assert "text_int8.tflite  1,000   700   95.00 %  83.50 to 98.62   -2.50  0.250\n" in text
    assert "3 (1 worse, 1 better) in text_int8.tflite on LiteRT" in text
    assert text.endswith("FAILED (size): out\n")


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
        "untrained",
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
