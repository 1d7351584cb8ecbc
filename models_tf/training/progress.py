"""What training shows: a live line on a terminal, a line an epoch elsewhere."""

import math
import time
from typing import TextIO


class Progress:
    def __init__(self, stream: TextIO, *, quiet: bool = False, every_seconds: float | None = None) -> None:
        """`every_seconds`: a line that often where there is no terminal, for long epochs."""
        self.stream = stream
        self.quiet, self.every_seconds = quiet, every_seconds
        self.live = not quiet and self.stream.isatty()
        self._shown = 0.0

    def stage(self, name: str, done: int, rows: int) -> None:
        """Work before the first epoch: a live line, and one line at its end."""
        if self.quiet or (done < rows and (not self.live or time.monotonic() - self._shown < 0.2)):
            return
        self._shown = time.monotonic()
        self.stream.write(("\r\033[K" if self.live else "") + f"{name}  row {done}/{rows}" + "\n" * (done == rows))
        self.stream.flush()

    def note(self, text: str) -> None:
        if not self.quiet:
            self.stream.write(text + "\n")
            self.stream.flush()

    def step(self, where: str, *, loss: float, accuracy: float, seconds_left: float) -> None:
        pause = 0.2 if self.live else self.every_seconds
        if self.quiet or pause is None or time.monotonic() - self._shown < pause:
            return
        self._shown = time.monotonic()
        right = "" if math.isnan(accuracy) else f"  accuracy {100 * accuracy:.2f} %"
        line = f"{where}  loss {loss:.4f}{right}  at most {_duration(seconds_left)} left"
        self.stream.write(f"\r\033[K{line}" if self.live else f"{line}\n")
        self.stream.flush()

    def epoch(self, record: dict[str, float], *, best: bool, seconds: float, epochs: int) -> None:
        if self.quiet:
            return
        number = int(record["epoch"]) + 1
        left = seconds * (epochs - number) / number
        train = f"train {100 * record['train_accuracy']:.2f} %  " if "train_accuracy" in record else ""
        dev = f"dev {100 * record['dev_accuracy']:.2f} %{' (best)' * best}  " if "dev_accuracy" in record else ""
        self.stream.write(
            ("\r\033[K" if self.live else "")
            + f"epoch {number}/{epochs}  loss {record['loss']:.4f}  {train}{dev}at most {_duration(left)} left\n"
        )
        self.stream.flush()


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{seconds:02d}s"
