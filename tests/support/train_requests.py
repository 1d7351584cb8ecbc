"""Requests of trainings for tests, written as the flags of the command; and what a training shows."""

from typing import Any

import pytest

from exporters import TrainRequest, train
from exporters.commands.main import parser_of
from exporters.commands.train import request_of
from models_tf.errors import naming_flags
from models_tf.training.folder import TrainingFolder
from models_tf.training.progress import Progress


def request(*flags: str) -> TrainRequest:
    """Checked like any other; no command runs. Errors name flags, as in the command."""
    with naming_flags():
        return request_of(parser_of("train").read(list(flags)))


def run(*flags: str, progress: Progress | None = None, command: str = "") -> dict[str, Any]:
    """The record of a training in this process; errors name flags, as in the command."""
    with naming_flags():
        return train(request(*flags), progress=progress, command=command).to_dict()


class Lines:
    """A progress that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.live_lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)

    def live(self, text: str) -> None:
        self.live_lines.append(text)


class KilledError(Exception):
    pass


def kill_after(monkeypatch: pytest.MonkeyPatch, saves: int) -> None:
    """The training dies after it has saved its state so many times."""
    original, count = TrainingFolder.save_state, [0]

    def save_state(self: TrainingFolder, *args: Any) -> None:
        original(self, *args)
        count[0] += 1
        if count[0] == saves:
            raise KilledError

    monkeypatch.setattr(TrainingFolder, "save_state", save_state)
