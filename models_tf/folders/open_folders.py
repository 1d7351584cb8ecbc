"""The folders that are being written now: a run that must end early asks them to discard, and what they leave.

Who ends the run (a signal handler of the command, say) is not known here.
"""

from collections.abc import Callable
from typing import Protocol

NOTHING = "Nothing was written."


class OpenFolder(Protocol):
    """A folder that is being written; it registers when it opens and unregisters when it is done."""

    def discard(self) -> bool:
        """Remove what is unfinished. False while a commit is under way: it calls `committed` when that is done."""

    def outcome(self) -> str:
        """One sentence about what a run that ended now would leave; empty if nothing."""


_open: list[OpenFolder] = []
_left = ""
_waiting: Callable[[], None] | None = None


def register(folder: OpenFolder) -> None:
    if folder not in _open:
        _open.append(folder)


def unregister(folder: OpenFolder) -> None:
    """Forget the folder, but not what it leaves."""
    global _left  # noqa: PLW0603 - there is one process, and its last line tells of it
    if folder in _open:
        _open.remove(folder)
        _left = folder.outcome() or _left


def forget() -> None:
    """Before another run in the same process: what an earlier one left is not its doing."""
    global _left  # noqa: PLW0603 - see `unregister`
    _left = ""


def discard_all(then: Callable[[], None] | None = None) -> bool:
    """Remove everything unfinished. False while a commit is under way; `then` is called as soon as it has ended."""
    global _waiting  # noqa: PLW0603 - a signal handler has no other way to be told
    done = [folder.discard() for folder in list(_open)]
    _waiting = None if all(done) else then
    return all(done)


def committed() -> None:
    """A folder has ended a commit: whoever waited for that is called."""
    if _waiting is not None:
        _waiting()


def outcome() -> str:
    """What a run that ends now leaves behind, for its last line."""
    return " ".join(filter(None, (folder.outcome() for folder in _open))) or _left or NOTHING
