"""What training shows: a live line on a terminal, a line an epoch elsewhere."""

import time
from typing import TextIO


class Progress:
    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self.stream = stream
        self.quiet = quiet
        self.live = not quiet and self.stream.isatty()
        self._shown = 0.0

    def step(self, where: str, *, loss: float, accuracy: float, seconds_left: float) -> None:
        if not self.live or time.monotonic() - self._shown < 0.2:
            return
        self._shown = time.monotonic()
        self.stream.write(
            f"\r\033[K{where}  loss {loss:.4f}  accuracy {100 * accuracy:.2f} %  at most {_duration(seconds_left)} left"
        )
        self.stream.flush()

    def epoch(self, record: dict[str, float], *, best: bool, seconds: float, epochs: int) -> None:
        if self.quiet:
            return
        number = int(record["epoch"]) + 1
        left = seconds * (epochs - number) / number
        self.stream.write(
            ("\r\033[K" if self.live else "")
            + f"epoch {number}/{epochs}  loss {record['loss']:.4f}  train {100 * record['train_accuracy']:.2f} %  "
            f"dev {100 * record['dev_accuracy']:.2f} %{' (best)' if best else ''}  at most {_duration(left)} left\n"
        )
        self.stream.flush()


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{seconds:02d}s"
