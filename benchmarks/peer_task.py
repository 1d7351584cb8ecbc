"""What all files of a comparison are made from, and how a file is written: complete or not at all."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from peer_worker import ALIASES, Row


@dataclass(frozen=True, kw_only=True)
class Task:
    """Calibration rows have no padding."""

    checkpoint: Path
    eval_data: Path
    calibration_data: Path
    calibration: tuple[Row, ...]
    lengths: tuple[int, ...]
    work: Path

    @property
    def longest(self) -> int:
        return max(self.lengths)


def made(path: Path, make: Callable[[Path], Any]) -> Path:
    """The file, made if it does not exist; what OpenVINO writes beside it goes along."""
    if not path.is_file():
        print("making", path.name, flush=True)
        partial = path.with_name(f"partial_{path.name}")
        make(partial)
        beside = partial.with_suffix(".bin")
        if beside.is_file():
            beside.rename(path.with_suffix(".bin"))
        partial.rename(path)
    return path


def feed(row: Row) -> dict[str, np.ndarray]:
    """The row under the names, and with the type, of PyTorch's exporter."""
    return {name: row[known].astype(np.int64) for name, known in ALIASES.items()}
