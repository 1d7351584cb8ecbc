"""Stage display on stderr: one live line on a terminal, one line for each finished stage elsewhere.

Keeps the seconds of each stage, which the report prints. Leaves out percentages: no stage is long. Lines can be held
back until bad input is ruled out, so that its one line stands alone.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_TICK_SECONDS = 0.2


class Progress:
    """`with progress.stage("convert"): ...`; quiet ones only keep time, `held` ones print at `release`."""

    def __init__(self, *, stream: TextIO | None = None, quiet: bool = False, held: bool = False) -> None:
        self.seconds: dict[str, float] = {}
        self._stream = stream if stream is not None else sys.stderr
        self._quiet = quiet
        self._held: list[str] | None = [] if held else None
        self._live = not quiet and self._stream.isatty()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the block under `name`; a block that raises leaves no finished line behind."""
        start = time.perf_counter()
        done = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(name, start, done), daemon=True) if self._live else None
        if ticker:
            ticker.start()
        finished = False
        try:
            yield
            finished = True
        finally:
            done.set()
            if ticker:
                ticker.join()
                self._write("\r\033[K")
            elapsed = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + elapsed
            if finished:
                self.line(f"{name:<44} {elapsed:5.1f} s")

    def line(self, text: str) -> None:
        """One line of its own, such as a remark on the data."""
        if self._held is not None:
            self._held.append(text)
        elif not self._quiet:
            self._write(text + "\n")

    def release(self) -> None:
        """Print what was held back, and hold nothing back from now on."""
        held, self._held = self._held or [], None
        for text in held:
            self.line(text)

    def _tick(self, name: str, start: float, done: threading.Event) -> None:
        while True:
            self._write(f"\r\033[K{name:<44} {time.perf_counter() - start:5.1f} s")
            if done.wait(_TICK_SECONDS):
                return

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (BrokenPipeError, ValueError):  # nobody reads the display any more; the work goes on
            self._quiet = True
