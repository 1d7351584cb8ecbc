"""Whom a training tells where it stands, and the texts of its lines. Leaves out how they are drawn."""

import math
from collections.abc import Mapping
from typing import Protocol


class Progress(Protocol):
    def line(self, text: str) -> None:
        """A line that stays."""

    def live(self, text: str) -> None:
        """A line that the next one replaces."""


class Silent:
    """Shows nothing."""

    def line(self, text: str) -> None: ...

    def live(self, text: str) -> None: ...


def tell_rows(progress: Progress, name: str, done: int, rows: int) -> None:
    """Work before the first epoch; its last line stays."""
    text = f"{name}  row {done}/{rows}"
    if done < rows:
        progress.live(text)
    else:
        progress.line(text)


def step_line(where: str, *, loss: float, accuracy: float, seconds_left: float) -> str:
    right = "" if math.isnan(accuracy) else f"  accuracy {100 * accuracy:.2f} %"
    return f"{where}  loss {loss:.4f}{right}  at most {_duration(seconds_left)} left"


def epoch_line(record: Mapping[str, float], *, stage: str, mark: str, seconds: float, epochs: int) -> str:
    """`stage` is named unless empty; `mark` stands behind the dev score."""
    number = int(record["epoch"]) + 1
    left = seconds * (epochs - number) / number
    where = f"epoch {number}/{epochs}" + (f" ({stage})" if stage else "")
    train = f"train {100 * record['train_accuracy']:.2f} %  " if "train_accuracy" in record else ""
    dev = f"dev {100 * record['dev_accuracy']:.2f} %{mark}  " if "dev_accuracy" in record else ""
    return f"{where}  loss {record['loss']:.4f}  {train}{dev}at most {_duration(left)} left"


def stop_line(epoch: int, epochs: int, waited: int) -> str:
    """Why a training ends before its last epoch: it `waited` too long, or 0 and a callback ended it."""
    why = f"no better dev score for {waited} epochs" if waited else "a callback asked for it"
    return f"stopped after epoch {epoch} of {epochs}: {why}"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{seconds:02d}s"
