"""Makes an export again, from the request that its report records, and compares the bytes.

Model files and what lies beside them must be the same on the same versions. The reports and the model card hold times
of a run and are not compared.
"""

import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporters.console.progress import Progress
from exporters.integrity.result import DIFFERENT, Problem, difference
from exporters.report.inputs import InputRecord
from exporters.report.versions import versions
from exporters.request_record import from_record
from models_tf import extras
from models_tf.checkpoints.json_text import read_json_file
from models_tf.errors import InputError
from models_tf.folders import manifest
from models_tf.folders.manifest import Entry, Manifest

REPORT = "report.json"
EXPORT = "export"


@dataclass(frozen=True, kw_only=True)
class Rebuilt:
    """How many files were compared, which differ, and what may be the reason."""

    files: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def rebuild(folder: Path, found: Manifest, problems: Sequence[Problem], *, progress: Progress) -> Rebuilt:
    """Compares with the manifest, so that a file that was changed meanwhile is not blamed twice."""
    if found.command != EXPORT:
        raise InputError(f"--rebuild makes an export again. Received: {folder}, which {found.command[:40]} wrote.")
    report = _report(folder, problems)
    # Not made here: the output folder makes it complete or not at all, and an interrupt leaves nothing.
    output = Path(tempfile.gettempdir()) / f"export-mobile-rebuild-{secrets.token_hex(8)}"
    extras.require(extras.EXPORT, "verify --rebuild")
    try:
        wanted = from_record(_request(report), output=output)
    except InputError as error:
        raise InputError(f"--rebuild needs what the export read: run it where the export ran. {error}") from error
    from exporters.pipeline import export

    try:
        again = export(wanted, progress=progress)
        made = manifest.load(output)
    finally:
        shutil.rmtree(output, ignore_errors=True)
    names = _compared(report)
    differences = tuple(_differences(found.files, made.files, names))
    notes = [*_other_inputs(report, again.inputs), *(_other_versions(report) if differences else ())]
    return Rebuilt(files=len(names), problems=differences, notes=tuple(notes))


def _report(folder: Path, problems: Sequence[Problem]) -> Mapping[str, Any]:
    if any(problem.file == REPORT for problem in problems):
        raise InputError(
            f"--rebuild reads {folder / REPORT} as the export wrote it. Received: a missing or changed one."
        )
    try:
        document = read_json_file(folder / REPORT)
    except OSError as error:
        raise InputError(f"--rebuild reads {folder / REPORT}. Received: {error}.") from error
    if not isinstance(document, dict):
        raise InputError(f"{folder / REPORT} must be the report of an export. Received: another kind of JSON.")
    return document


def _request(report: Mapping[str, Any]) -> Mapping[str, Any]:
    request = report.get("request")
    if not isinstance(request, dict) or not request:
        raise InputError(
            "--rebuild needs a report that records its request. Received: one of an older release of export-mobile. "
            "Export again, then verify."
        )
    return request


def _compared(report: Mapping[str, Any]) -> list[str]:
    files = report.get("files")
    entries = files if isinstance(files, list) else []
    return [entry["name"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("name"), str)]


def _differences(before: Mapping[str, Entry], after: Mapping[str, Entry], names: Sequence[str]) -> Iterator[Problem]:
    for name in names:
        if name not in after or name not in before:
            detail = "not written this time" if name in before else "not in the folder"
            yield Problem(kind=DIFFERENT, file=name, detail=detail)
        elif before[name] != after[name]:
            yield Problem(kind=DIFFERENT, file=name, detail=difference(before[name], after[name]))


def _other_inputs(report: Mapping[str, Any], now: Sequence[InputRecord]) -> Iterator[str]:
    """Files that were read then and are others now. Bundled ones lie elsewhere on another machine: the name counts."""
    found = report.get("inputs")
    then = [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
    before = {(str(one.get("role")), Path(str(one.get("path"))).name, one.get("sha256")) for one in then}
    after = {(one.role, Path(one.path).name, one.sha256) for one in now}
    changed = sorted({f"{role} {name}" for role, name, _ in before ^ after}) if before else []
    if changed:
        yield f"Not the same input as then: {', '.join(changed)}."


def _other_versions(report: Mapping[str, Any]) -> Iterator[str]:
    then, now = report.get("versions"), versions()
    if isinstance(then, dict):
        changed = [
            f"{name} {str(then.get(name, 'absent'))[:40]} then, {now.get(name, 'absent')} now"
            for name in dict.fromkeys((*now, *then))
            if then.get(name) != now.get(name)
        ]
        yield f"Other versions: {'; '.join(changed)}." if changed else "All versions are the same as then."
