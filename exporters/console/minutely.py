"""Progress of long work where there is no terminal: once a minute the live line becomes a line that stays."""

import time
from typing import Protocol, TextIO

SECONDS = 60.0


class _Progress(Protocol):
    def line(self, text: str) -> None: ...

    def live(self, text: str) -> None: ...


class Minutely:
    def __init__(self, progress: _Progress, *, seconds: float = SECONDS) -> None:
        self._progress, self._seconds = progress, seconds
        self._shown = time.monotonic()

    @classmethod
    def around(cls, progress: _Progress, stream: TextIO) -> _Progress:
        """`progress` itself where `stream` is a terminal."""
        return progress if stream.isatty() else cls(progress)

    def line(self, text: str) -> None:
        self._shown = time.monotonic()
        self._progress.line(text)

    def live(self, text: str) -> None:
        if time.monotonic() - self._shown >= self._seconds:
            self.line(text)
