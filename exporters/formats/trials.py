"""Tries written files: each is loaded and runs one row in a process of its own before anything else runs it.

A runtime may abort on a file instead of refusing it, and would take the export along; an app that ships the file would
meet the same end. One process serves all files, one after the other, and ends before the next step.
"""

import functools
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from exporters.errors import RunError
from exporters.formats.artifacts import Placed, place
from exporters.formats.base import FORMATS, Artifact
from exporters.formats.runners import Feed, RunnerError
from exporters.formats.tflite.runtime_worker import pack
from exporters.formats.worker_process import WorkerProcess

_WORKER = "exporters.formats.trial_worker"


def try_artifacts(made: Iterable[Artifact], row: Callable[[str], Feed]) -> None:
    """The same with files that are not on disk yet, which `RunError` is raised for as well."""
    with tempfile.TemporaryDirectory() as folder:
        try_files(place(made, functools.partial(_write, Path(folder))), row)


def _write(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def try_files(placed: Iterable[Placed], row: Callable[[str], Feed]) -> None:
    """Runs the `row` of its graph through each file.

    Raises:
        RunError: a runtime cannot load or run a file; in one line, with its name.
    """
    # A format that was put into the table as an object is known in this process alone.
    known = [(one, where) for one in placed if isinstance(where := FORMATS[one.format.name], str)]
    if not known:
        return
    with WorkerProcess(_WORKER) as worker:
        for one, where in known:
            worker.send({"format": where, "path": str(one.path.resolve())}, pack(row(one.graph)))
            try:
                worker.receive(one.name)
            except RunnerError as error:
                reason = str(error).removeprefix(f"{one.name}: ").rstrip(".")
                raise RunError(
                    f"{one.name}: expected a file that {one.format.runtime} loads and runs. Received: {reason}. "
                    "Nothing was written. Choose another --quantize, or look for extreme weights in the checkpoint."
                ) from error
