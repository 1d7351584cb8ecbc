"""A check as JUnit XML, which CI servers show as test cases: one for each gate of each file."""

from xml.etree import ElementTree as ET

from exporters.checking.result import CheckResult
from exporters.checking.text import score
from exporters.console.cleaning import clean_line

SUITE = "export-mobile check"


def junit(result: CheckResult) -> str:
    """The document. What XML cannot hold is cleaned away."""
    suite = ET.Element("testsuite", name=SUITE, errors="0", skipped="0")
    tests = 0
    for file in result.files:
        cases = [("score", True, score(file)), *((one.gate, one.passed, one.message) for one in file.verdicts)]
        for gate, passed, message in cases:
            tests += 1
            case = ET.SubElement(suite, "testcase", classname=_safe(file.name), name=_safe(gate))
            if not passed:
                failure = ET.SubElement(case, "failure", message=_safe(message), type=gate)
                failure.text = "\n".join(
                    _safe(f"row {flip.row}: {flip.text} | expected {flip.label}, was {flip.before}, is {flip.after}")
                    for flip in file.flips
                )
            else:
                ET.SubElement(case, "system-out").text = _safe(message)
    suite.set("tests", str(tests))
    suite.set("failures", str(len(result.failures)))
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
