"""`compare`: the frontier and the picks of known cases, intervals, both versions of a report, and bad input."""

import json
from pathlib import Path

import pytest

from exporters import CompareRequest, compare
from exporters.commands import main as cli
from exporters.comparison.candidate import Accuracy, Candidate, Source, interval
from exporters.comparison.frontier import Limits, frontier, picks
from exporters.comparison.text import plot
from models_tf.errors import InputError
from models_tf.tasks.metrics import wilson

SOURCE = Source(
    name="a",
    path="a/report.json",
    model="prado",
    quantize="int8",
    seq_len=32,
    data="x",
    data_source="eval.tsv",
    cpu="c",
    passed=True,
    trained=True,
)


def candidate(size: int, accuracy: float | None = None, latency: float | None = None) -> Candidate:
    score = None if accuracy is None else Accuracy(metric="accuracy", value=accuracy, n=100, low=0, high=100)
    return Candidate(
        source=SOURCE, file=f"{size}.tflite", target="tflite", size_bytes=size, accuracy=score, latency_ms=latency
    )


def report(**changes) -> dict:
    score = {"metric": "accuracy", "value": 90.0, "n": 100, "standard_error": 3.0, "more": {}}
    values = {
        "passed": True,
        "exit_code": 0,
        "report_version": 1,
        "model": {"name": "prado", "task": "snips", "max_seq_len": 32},
        "quantize": "int8",
        "data": {"eval_source": "eval.tsv", "eval_rows": 100},
        "files": [
            {"name": "features_int8.tflite", "size_bytes": 1000, "target": "tflite"},
            {"name": "features_int8.onnx", "size_bytes": 1100, "target": "onnx"},
            {"name": "labels.txt", "size_bytes": 5, "target": None},
        ],
        "accuracy": [
            {"stage": "Keras", "score": score, "drop": 0.0},
            {"stage": "features_int8.tflite on LiteRT (batch_8)", "score": score, "drop": 0.0},
            {"stage": "features_int8.tflite on LiteRT", "score": score, "drop": 0.0},
            {"stage": "features_int8.onnx on ONNX Runtime", "score": score | {"value": 91.0}, "drop": -1.0},
        ],
        "latency": [
            {"file": "features_int8.tflite", "seq_len": 32, "median_ms": 0.5, "runs": 9},
            {"file": "features_int8.tflite", "seq_len": 128, "median_ms": 2.5, "runs": 9},
            {"file": "features_int8.onnx", "seq_len": 32, "median_ms": 0.4, "runs": 9},
        ],
        "latency_cpu": "some CPU",
    }
    return values | changes


def write(folder: Path, **changes) -> Path:
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(json.dumps(report(**changes)), encoding="utf-8")
    return folder


def test_the_interval_of_a_share_is_wilsons():
    # Computed by hand from the formula: 81 of 263 (Newcombe 1998, table I), 15 of 148, 0 of 20, 1 of 29
    for right, n, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        assert wilson(right, n) == pytest.approx((100 * low, 100 * high), abs=5e-3)


def test_metrics_that_are_no_share_of_rows_use_their_standard_error():
    assert interval("entity_f1", 80.0, 50, 2.0) == pytest.approx((76.08, 83.92), abs=0.01)
    assert interval("accuracy", 100.0, 50, 0.0)[0] < 100.0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([(10, 90, 1.0), (20, 95, 2.0), (30, 94, 3.0)], [0, 1]),  # the third is beaten by the second in all
        ([(10, 90, 1.0), (10, 90, 1.0)], [0, 1]),  # equal ones do not beat each other
        ([(10, 90, 1.0), (10, 90, 1.1)], [0]),
        ([(10, 90, 3.0), (20, 90, 2.0), (30, 90, 1.0)], [0, 1, 2]),
        ([(10, None, 3.0), (20, None, 2.0), (30, None, 2.5)], [0, 1]),  # nobody has an accuracy: the rest decides
        ([(10, 90, 1.0), (5, None, 0.5)], [0]),  # one without accuracy is not judged
        ([(10, 90, None), (20, 80, None)], [0]),
    ],
)
def test_the_frontier_of_known_cases(given, expected):
    assert frontier([candidate(*one) for one in given]) == expected


def test_picks_are_within_the_limits_and_ties_go_to_the_better_one():
    found = [candidate(*one) for one in [(10, 80, 3.0), (10, 85, 3.0), (20, 95, 2.0), (30, 95, 1.0), (40, None, 0.5)]]
    assert picks(found, Limits()) == {"smallest": 1, "most accurate": 2, "fastest": 4}
    limits = Limits(max_size_bytes=30, max_latency_ms=2.0, min_accuracy=90)
    assert picks(found, limits) == {"smallest": 2, "most accurate": 2, "fastest": 3}
    assert picks(found, Limits(min_accuracy=99)) == {}


def test_both_versions_of_a_report_are_read_and_the_own_interval_is_kept(tmp_path):
    second = report(report_version=2, inputs=[{"role": "eval_data", "path": "eval.tsv", "sha256": "ab"}])
    for stage in second["accuracy"]:
        stage["score"] = stage["score"] | {"interval": [81.5, 94.5]}
    one, two = write(tmp_path / "one"), write(tmp_path / "two", **second)
    found = compare(CompareRequest(reports=(one, two / "report.json")))
    by_name = {candidate.name: candidate for candidate in found.candidates}
    assert list(by_name) == [
        "one/features_int8.tflite",
        "one/features_int8.onnx",
        "two/features_int8.tflite",
        "two/features_int8.onnx",
    ]
    lite = by_name["one/features_int8.tflite"]
    assert (lite.size_bytes, lite.latency_ms, lite.accuracy.value) == (1000, 0.5, 90.0)
    assert (lite.accuracy.low, lite.accuracy.high) == pytest.approx((82.56, 94.48), abs=0.01)
    assert (by_name["two/features_int8.onnx"].accuracy.low, by_name["two/features_int8.onnx"].accuracy.high) == (
        81.5,
        94.5,
    )
    assert any("different data" in note for note in found.notes)  # a path here, a hash there


def test_the_same_data_needs_no_note_and_other_machines_and_lengths_do(tmp_path):
    one, two = write(tmp_path / "one"), write(tmp_path / "two")
    assert compare(CompareRequest(reports=(one, two))).notes == ()
    other = write(
        tmp_path / "three",
        latency_cpu="another CPU",
        passed=False,
        model={"name": "bert", "max_seq_len": 64, "trained": False},
        latency=[],
        data={"eval_source": "test.tsv", "eval_rows": 100},
    )
    notes = " ".join(compare(CompareRequest(reports=(one, other))).notes)
    for words in (
        "one: eval.tsv; three: test.tsv",
        "one: some CPU; three: another CPU",
        "one: 32; three: 64",
        "three failed a gate",
        "three has random weights",
        "Without latency, and so not judged for the frontier: three/features_int8.tflite",
    ):
        assert words in notes


def test_reports_with_different_metrics_are_refused(tmp_path):
    score = {"metric": "entity_f1", "value": 80.0, "n": 50, "standard_error": 2.0}
    stages = [{"stage": "features_int8.tflite on LiteRT", "score": score, "drop": 0.0}]
    one, two = write(tmp_path / "one"), write(tmp_path / "two", accuracy=stages)
    with pytest.raises(InputError, match=r"one metric\. Received: accuracy \(one\), entity_f1 \(two\)"):
        compare(CompareRequest(reports=(one, two)))


def test_folders_of_one_name_are_told_apart_and_a_report_counts_once(tmp_path):
    one, two = write(tmp_path / "x" / "out"), write(tmp_path / "y" / "out")
    found = compare(CompareRequest(reports=(one, two, one / "report.json"), target=("onnx",)))
    assert [candidate.name for candidate in found.candidates] == [
        "x/out/features_int8.onnx",
        "y/out/features_int8.onnx",
    ]


def test_the_command_prints_a_table_with_frontier_and_picks(tmp_path, capsys):
    one = write(tmp_path / "one")
    assert cli.main(["compare", str(one)]) == 0
    text = capsys.readouterr().out
    lite, onnx = (
        next(line for line in text.splitlines() if line.startswith(f"one/features_int8.{end}"))
        for end in ("tflite", "onnx")
    )
    assert lite.split() == [
        "one/features_int8.tflite",
        "prado",
        "int8",
        "1,000",
        "90.00",
        "%",
        "82.56",
        "to",
        "94.48",
        "100",
        "0.500",
        "●",
        "smallest",
    ]
    assert onnx.split()[-4:] == ["●", "most", "accurate,", "fastest"]
    assert "most accurate: one/features_int8.onnx (1,100 bytes, 91.00 %, 0.400 ms)" in text
    assert "smaller, and its interval reaches that: one/features_int8.tflite" in text


def test_limits_are_named_and_none_within_them_is_said(tmp_path, capsys):
    one = write(tmp_path / "one")
    assert cli.main(["compare", str(one), "--max-size", "1KB", "--max-latency", "1", "--min-accuracy", "50"]) == 0
    assert (
        "smallest (at most 1,024 bytes, at most 1 ms, at least 50 points): one/features_int8.tflite"
        in capsys.readouterr().out
    )
    assert cli.main(["compare", str(one), "--max-size", "1B"]) == 0
    assert "note: No file is within all limits." in capsys.readouterr().out


def test_the_numbers_are_the_same_in_all_forms(tmp_path, capsys):
    one = write(tmp_path / "one")
    assert cli.main(["compare", str(one), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    for name in ("a.md", "b.txt", "c.json"):
        assert cli.main(["compare", str(one), "--output", str(tmp_path / name)]) == 0
        assert capsys.readouterr().out == f"written: {tmp_path / name}\n"
    assert json.loads((tmp_path / "c.json").read_text()) == document
    for row in document["candidates"]:
        for text in ((tmp_path / "a.md").read_text(), (tmp_path / "b.txt").read_text()):
            line = next(line for line in text.splitlines() if row["name"] in line and " to " in line)
            for number in (
                f"{row['size_bytes']:,}",
                f"{row['accuracy']['value']:.2f}",
                f"{row['accuracy']['low']:.2f}",
                f"{row['latency_ms']:.3f}",
            ):
                assert number in line


def test_names_of_users_are_no_markup(tmp_path, capsys):
    evil = tmp_path / "<script>|`x`\x1b[31m"
    one = write(evil)
    found = compare(CompareRequest(reports=(one,)))
    text = found.to_markdown()
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({line.count("|") for line in table}) == 1
    assert "<script" not in text.partition("```")[0]
    assert "\x1b" not in text
    assert cli.main(["compare", str(one)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_metric_that_a_report_names_is_no_markup_in_the_header(tmp_path):
    """Found by the attack: an image in the name of a metric was one in the table."""
    score = {"metric": "![x](http://a.example)", "value": 80.0, "n": 50, "standard_error": 2.0}
    stages = ("Keras", "features_int8.tflite on LiteRT")
    one = write(tmp_path / "one", accuracy=[{"stage": stage, "score": score, "drop": 0.0} for stage in stages])
    text = compare(CompareRequest(reports=(one,))).to_markdown()
    assert "a.example" in text
    assert "![" not in text
    assert "](" not in text


def test_a_metric_that_a_report_names_does_not_turn_the_page_around(tmp_path):
    """Found by the attack: the title of a chart held the sign that reverses the reading order."""
    score = {"metric": "\u202e<x>", "value": 80.0, "n": 50, "standard_error": 2.0}
    stages = ("Keras", "features_int8.tflite on LiteRT")
    one = write(tmp_path / "one", accuracy=[{"stage": stage, "score": score, "drop": 0.0} for stage in stages])
    page = compare(CompareRequest(reports=(one,))).to_html()
    assert "\\u202e&lt;x&gt; over size" in page
    assert "\u202e" not in page


def test_the_plot_has_every_interval_on_one_axis():
    scores = [(90.0, 80.0, 95.0), (70.0, 60.0, 80.0), (60.0, 60.0, 60.0)]
    found = [
        Candidate(
            source=SOURCE,
            file=f"{number}",
            target="onnx",
            size_bytes=1,
            accuracy=Accuracy(metric="accuracy", value=value, n=9, low=low, high=high),
            latency_ms=None,
        )
        for number, (value, low, high) in enumerate(scores)
    ]
    axis, *rows = plot(found)
    assert axis.split() == ["60.00", "95.00"]
    assert (rows[0].find("├"), rows[0].find("●"), rows[0].rfind("┤")) == (5 + 22, 5 + 33, 5 + 39)  # of 39: 20/35, 30/35
    assert rows[1].index("├") == 5
    assert rows[2].split() == ["a/2", "●"]
    assert plot([candidate(1)]) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must be a report of an export. Received: Expecting value"),
        (b"[" * 100_000, "at most 100 levels"),
        (b"[]", "another kind of JSON"),
        (b'{"profile_version": 1}', "another kind of JSON"),
        (json.dumps(report(report_version=3)).encode(), "version 1 or 2. Received: 3"),
        (json.dumps(report(files=None)).encode(), "a damaged one"),
        (json.dumps(report(latency=[{"file": 3, "seq_len": 32}])).encode(), "a damaged one"),
        (json.dumps(report(model={"name": "prado"})).encode(), "a damaged one (no 'max_seq_len')"),
        (json.dumps(report(accuracy=[{"stage": "x", "score": {"metric": "accuracy"}}])).encode(), "a damaged one"),
        (json.dumps(report(accuracy=[])).replace('"size_bytes": 1000', '"size_bytes": -1').encode(), "a damaged one"),
        (json.dumps(report(files=[])).encode(), "reports with model files. Received: none"),
    ],
)
def test_a_damaged_report_is_one_line_and_exit_code_2(tmp_path, content, message, capsys):
    (tmp_path / "report.json").write_bytes(content)
    assert cli.main(["compare", str(tmp_path), "--output", str(tmp_path / "out.md")]) == 2
    found = capsys.readouterr()
    assert (found.out, len(found.err.splitlines())) == ("", 1)
    assert message in found.err
    assert not (tmp_path / "out.md").exists()


def test_what_cannot_be_compared_or_written_is_exit_code_2(tmp_path, capsys):
    one = write(tmp_path / "one")
    (tmp_path / "there.md").write_text("mine")
    for arguments, message in (
        ([], "required"),
        ([tmp_path / "nowhere"], "no such file or directory"),
        ([tmp_path], "no such file or directory"),
        ([one, "--max-size", "huge"], "--max-size must be a number"),
        ([one, "--max-latency", "nan"], "--max-latency must be"),
        ([one, "--min-accuracy", "101"], "--min-accuracy must be"),
        ([one, "--target", "pdf"], "for pdf. Received: none"),
        ([one, "--format", "html"], "give --output FILE"),
        ([one, "--output", tmp_path], "a folder"),
        ([one, "--output", tmp_path / "nowhere" / "x.md"], "a folder that exists"),
        ([one, "--output", tmp_path / "there.md"], "exists. Use --force"),
    ):
        assert cli.main(["compare", *map(str, arguments)]) == 2, arguments
        found = capsys.readouterr()
        assert (found.out, len(found.err.splitlines())) == ("", 1)
        assert message in found.err
    assert (tmp_path / "there.md").read_text() == "mine"
    assert cli.main(["compare", str(one), "--output", str(tmp_path / "there.md"), "--force"]) == 0
    assert (tmp_path / "there.md").read_text().startswith("# Comparison")
