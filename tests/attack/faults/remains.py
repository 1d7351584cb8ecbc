"""What a fault may leave, and what it may not: the oracle for output folders.

An output is complete (its manifest names every file, with size and sum) or absent. After a signal that can be handled
nothing else is left. After a kill a hidden folder may stay beside the output, which `export-mobile clean` removes or
moves back; a training's folder holds only files that it names, and resumes.
"""

import json
import os
import shutil
import time
from pathlib import Path

from models_tf.errors import InputError
from models_tf.folders import manifest
from tests.attack import command
from tests.attack.case import Case
from tests.attack.faults import jobs
from tests.attack.faults.jobs import Job
from tests.attack.faults.started import names

_OLD_SECONDS = 7200  # older than the minute that a commit may take, and than the age that `clean` is asked for


def complete(folder: Path) -> str:
    """What is wrong with a folder that is there; empty if it is complete."""
    try:
        found = manifest.load(folder)
    except InputError as error:
        return f"an output without its manifest: {error}"
    names = {name for name in manifest.files_below(folder) if name != manifest.FILE}
    if names != set(found.files):
        return f"files and manifest differ: {sorted(names ^ set(found.files))[:5]}"
    wrong = [name for name, entry in found.files.items() if manifest.entry_of(folder / name) != entry]
    return f"not as written: {wrong[:5]}" if wrong else ""


def of_output(job: Job, case: Case) -> str:
    """What is wrong with the output under its name."""
    place = case.output
    if not os.path.lexists(place):
        return ""
    if job.writes == jobs.FOLDER:
        return complete(place)
    if job.writes == jobs.FILE:
        return _whole_document(place)
    if job.writes == jobs.TRAINING:
        stranger = manifest.first_stranger(place)
        return f"a training's folder holds {stranger}, which it does not name" if stranger else ""
    return ""


def _whole_document(path: Path) -> str:
    try:
        json.loads(path.read_bytes())
    except ValueError as error:
        return f"half a file: {error}"
    return ""


def beside(case: Case) -> list[str]:
    """What lies beside the output."""
    return [name for name in names(case.output.parent) if name != case.output.name]


def after_clean(case: Case) -> str:
    """Runs `clean` on what a kill left, and says what it could not clear."""
    parent = case.output.parent
    known = [name for name in beside(case) if name.startswith((".result.partial-", ".result.old-", ".result.tmp"))]
    if strange := sorted(set(beside(case)) - set(known)):
        return f"an unknown leftover: {strange}"
    past = time.time() - _OLD_SECONDS
    for name in known:
        for path in (parent / name, *(parent / name).rglob("*")):
            os.utime(path, (past, past), follow_symlinks=False)
    streams = case.folder / "clean"
    streams.mkdir()
    done = command.run(["clean", str(parent), "--older-than", "1h", "--yes"], folder=streams, cwd=case.inputs)
    shutil.rmtree(streams)
    if done.code:
        return f"clean ended with {done.code}: {done.stderr[-300:]!r}"
    return f"clean left {beside(case)}" if beside(case) else ""
