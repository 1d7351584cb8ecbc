"""A check as JUnit XML, which CI servers show as test cases: one for each gate of each file."""

from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from exporters.checking.result import CheckResult
from exporters.checking.text import score
from exporters.console.cleaning import clean_line

SUITE = "export-mobile check"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A test case of a file: `failed` and `skipped` are messages, and `lines` go with a failure."""

    file: str
    name: str
    gate: str = ""
    said: str = ""
    failed: str = ""
    skipped: str = ""
    lines: tuple[str, ...] = ()


def junit(result: CheckResult) -> str:
    """The document. What XML cannot hold is cleaned away."""
    cases = []
    for file in result.files:
        flips = (
            f"row {flip.row}: {flip.text} | expected {flip.label}, was {flip.before}, is {flip.after}"
            for flip in file.flips
        )
        lines = tuple(flips)
        cases.append(Case(file=file.name, name="score", said=score(file)))
        for one in file.verdicts:
            said, failed = (one.message, "") if one.passed else ("", one.message)
            cases.append(Case(file=file.name, name=one.case, gate=one.gate, said=said, failed=failed, lines=lines))
    return document(cases)


def document(cases: Iterable[Case]) -> str:
    """Test cases as XML."""
    suite = ET.Element("testsuite", name=SUITE, errors="0")
    counted = {"tests": 0, "failures": 0, "skipped": 0}
    for one in cases:
        counted["tests"] += 1
        case = ET.SubElement(suite, "testcase", classname=_safe(one.file), name=_safe(one.name))
        if one.failed:
            counted["failures"] += 1
            failure = ET.SubElement(case, "failure", message=_safe(one.failed), type=one.gate)
            failure.text = "\n".join(_safe(line) for line in one.lines)
        elif one.skipped:
            counted["skipped"] += 1
            ET.SubElement(case, "skipped", message=_safe(one.skipped))
        else:
            ET.SubElement(case, "system-out").text = _safe(one.said)
    for name, count in counted.items():
        suite.set(name, str(count))
    return _document(suite)


def not_checked(message: str) -> str:
    """For a check that could not run: one test case that is in error."""
    suite = ET.Element("testsuite", name=SUITE, tests="1", errors="1", failures="0", skipped="0")
    case = ET.SubElement(suite, "testcase", classname=SUITE, name="input")
    ET.SubElement(case, "error", message=_safe(message), type="input")
    return _document(suite)


def _document(suite: ET.Element) -> str:
    ET.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suite, encoding="unicode") + "\n"


def _safe(text: str) -> str:
    cleaned = clean_line(text)
    return "".join(letter for letter in cleaned if letter not in "\ufffe\uffff" and not "\ud800" <= letter <= "\udfff")
