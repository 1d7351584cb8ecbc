"""A check as Markdown, JUnit and annotations: text of users is text, whatever it holds."""

from xml.etree import ElementTree as ET

import pytest

from exporters.checking import github, junit, text
from exporters.checking.paired import Drop
from exporters.checking.result import CheckedFile, CheckResult, Verdict
from exporters.verification.quality import Flip

NASTY = "<script>alert(1)</script> | `x` \\| *b*\n::error::\x1b[31m %0A ]]> \ud800 \x00 [l](u)"


@pytest.fixture
def result() -> CheckResult:
    drop = Drop(
        points=3.0, low=1.0, high=5.0, p=0.001, n=100, limit=0.5, method="exact McNemar test", worse=3, better=0
    )
    flip = Flip(row=7, text=NASTY, label=NASTY, before=NASTY, after="b")
    failed = Verdict(gate="accuracy", passed=False, message=f"expected x. Received: {NASTY}")
    file = CheckedFile(
        name="a_int8.tflite", sha256="0" * 64, size_bytes=10, metric="accuracy", value=90.0, low=80.0, high=95.0, n=100,
        verdicts=(failed, Verdict(gate="size", passed=True, message="ok")), drop=drop, flips=(flip,), flipped=3,
    )  # fmt: skip
    return CheckResult(files=(file,), data="d.tsv", data_sha256="1" * 64, compared="b.json", notes=(NASTY,))


def test_markdown_holds_no_html_and_no_broken_table(result):
    written = text.markdown(result)
    assert "<script" not in written
    (row,) = (line for line in written.splitlines() if line.startswith("| 7 |"))
    assert row.count("|") == 6  # five cells
    assert written.startswith("**FAIL against b.json")


def test_junit_is_xml_and_counts_its_failures(result):
    suite = ET.fromstring(junit.junit(result).encode())
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    failure = suite.find("testcase/failure")
    assert "<script>" in failure.get("message")
    assert "row 7" in failure.text


def test_an_annotation_is_one_line_and_one_command(result):
    lines = github.annotations(result)
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::warning"]
    for line in lines:
        assert "\n" not in line
        assert "\x1b" not in line
        assert "%250A" in line  # what looks like an escape is escaped


def test_a_summary_is_appended_only_where_there_is_one(result, tmp_path, monkeypatch):
    monkeypatch.delenv(github.SUMMARY_VARIABLE, raising=False)
    assert not github.write_summary(result)
    monkeypatch.setenv(github.SUMMARY_VARIABLE, str(tmp_path / "s.md"))
    assert github.write_summary(result)
    assert github.write_summary(result)
    assert (tmp_path / "s.md").read_text(encoding="utf-8").count("**FAIL") == 2


def test_a_real_drop_says_nothing_of_too_few_rows(result):
    assert not any("too few" in str(block) for block in text.blocks(result))


def test_a_check_that_could_not_run_is_one_error_in_ci():
    suite = ET.fromstring(junit.not_checked(f"model.tflite must be whole. Received: {NASTY}").encode())
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    assert suite.find("testcase/error").get("message").startswith("model.tflite must be whole")
    assert github.not_checked("a: b 50 %") == "::error title=export-mobile check::a: b 50 %25"
    assert "##" not in github.not_checked("the model has no label 'x'. It has a ##vso[task.complete]b.")
