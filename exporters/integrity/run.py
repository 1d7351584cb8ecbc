"""`verify`: compares a folder with its manifest, and an export with what the same request writes now.

Needs the base install only; making the export again needs `[export]`.
"""

import stat
from collections.abc import Iterator
from pathlib import Path

from exporters.console.progress import Progress
from exporters.integrity.request import VerifyRequest
from exporters.integrity.result import CHANGED, EXTRA, MISSING, Problem, VerifyResult, difference
from exporters.request_fields import check_request
from models_tf.errors import InputError, naming_fields
from models_tf.folders import manifest
from models_tf.folders.manifest import Entry, Manifest


@naming_fields()
def verify(request: VerifyRequest, *, progress: Progress | None = None) -> VerifyResult:
    """Check every file of a folder against its manifest.

    A file that is missing, changed or extra is not an error: the result says so (`result.passed`,
    `result.raise_for_failures()`).

    Args:
        request: the folder, and whether the export in it is made again and compared.
        progress: shows the stages of an export that is made again; by default nothing is shown.

    Raises:
        InputError: the folder has no manifest or a damaged one, or its export cannot be made again; in one line.
    """
    check_request(request, VerifyRequest)
    folder = request.folder
    if not folder.is_dir():
        received = "a file" if folder.exists() else "no such folder"
        raise InputError(f"verify needs a folder that export-mobile wrote. Received: {folder} ({received}).")
    found = manifest.load(folder)
    problems = tuple(_problems(folder, found))
    rebuilt, notes = 0, tuple[str, ...]()
    if request.rebuild:
        from exporters.integrity.rebuild import rebuild

        again = rebuild(folder, found, problems, progress=progress or Progress(quiet=True))
        problems, rebuilt, notes = (*problems, *again.problems), again.files, again.notes
    return VerifyResult(
        folder=folder,
        command=found.command,
        files=len(found.files),
        rebuilt=rebuilt,
        problems=problems,
        notes=notes,
    )


def _problems(folder: Path, found: Manifest) -> Iterator[Problem]:
    """In the order of the manifest, what it does not name last."""
    for name, expected in found.files.items():
        problem = _compare(folder / name, name, expected)
        if problem is not None:
            yield problem
    for name in sorted(_others(folder, found)):
        yield Problem(kind=EXTRA, file=name)


def _others(folder: Path, found: Manifest) -> Iterator[str]:
    known = {*found.files, manifest.FILE}
    return (name for name in manifest.files_below(folder) if name not in known)


def _compare(path: Path, name: str, expected: Entry) -> Problem | None:
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return Problem(kind=MISSING, file=name)
    except OSError as error:
        return Problem(kind=CHANGED, file=name, detail=f"cannot be read: {error.strerror}")
    if not stat.S_ISREG(mode):  # a pipe would never end, and a link may lead anywhere
        return Problem(kind=CHANGED, file=name, detail="is no longer a file of its own")
    try:
        now = manifest.entry_of(path)
    except OSError as error:
        return Problem(kind=CHANGED, file=name, detail=f"cannot be read: {error.strerror}")
    return None if now == expected else Problem(kind=CHANGED, file=name, detail=difference(expected, now))
