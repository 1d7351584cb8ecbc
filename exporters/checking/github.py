"""A check in GitHub Actions: annotations on stdout, and the job summary.

Annotations are workflow commands, `::error title=...::message`. The summary is Markdown, appended to the file that
the runner names in GITHUB_STEP_SUMMARY.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from exporters.checking.result import CheckResult, Judged
from exporters.checking.text import markdown, score
from exporters.console.cleaning import clean_line, without_commands

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


def annotations(result: CheckResult) -> list[str]:
    """One line for each failure, or one notice for each file that passed."""
    return lines_of(result, {file.name: score(file) for file in result.files}, result.notes)


def lines_of(result: Judged, headlines: Mapping[str, str], notes: Sequence[str]) -> list[str]:
    """Of any result with verdicts: `headlines` are what is said of files that passed."""
    failed = {name for name, _ in result.failures}
    lines = [_command("error", f"{name}: {one.case}", f"{name}: {one.message}") for name, one in result.failures]
    lines += [_command("notice", name, line) for name, line in headlines.items() if name not in failed]
    return [*lines, *(_command("warning", "export-mobile check", note) for note in notes)]


def not_checked(message: str) -> str:
    """For a check that could not run."""
    return _command("error", "export-mobile check", message)


def write_summary(result: CheckResult) -> bool:
    """Append to the job summary; False where there is none."""
    return write_text(markdown(result))


def write_text(text: str) -> bool:
    path = os.environ.get(SUMMARY_VARIABLE)
    if not path:
        return False
    with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return True


def _command(kind: str, title: str, message: str) -> str:
    title, message = (without_commands(clean_line(text)) for text in (title, message))
    return f"::{kind} title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
