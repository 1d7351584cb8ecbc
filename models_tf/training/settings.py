"""How to train, apart from the model's own config: what the loop needs, and what each kind of model adds."""

import dataclasses
import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from models_tf.data import DEFAULT_SEPARATOR, check_separator
from models_tf.folders.manifest import entry_of

CLASS_WEIGHTS = ("none", "balanced")


@dataclass(frozen=True, kw_only=True)
class LoopSettings:
    """Of every kind of model."""

    RANGES: ClassVar[dict[str, tuple[float, float]]] = {
        "epochs": (1, 100_000),
        "batch_size": (1, 65_536),
        "accumulate": (1, 65_536),
        "learning_rate": (1e-9, 10.0),
        "warmup": (0.0, 0.9),
        "label_smoothing": (0.0, 0.9),
        "average": (0.0, 0.99999),
        "clip_norm": (0.0, 1e6),
        "patience": (1, 100_000),
        "save_minutes": (0.0, 1e6),
        "seed": (0, 2**31 - 1),
        "teacher_weight": (0.0, 1.0),
        "temperature": (0.1, 100.0),
    }
    PATHS: ClassVar[tuple[str, ...]] = ("train", "dev", "teacher_logits")

    train: Path
    dev: Path
    output: Path
    text_column: str | None = None
    label_column: str | None = None
    epochs: int = 30
    batch_size: int = 64
    accumulate: int = 1  # batches per update
    learning_rate: float = 3e-3
    warmup: float = 0.05  # part of all steps
    label_smoothing: float = 0.1
    average: float = 0.999  # decay of the averaged weights, which are the ones kept; 0: off
    clip_norm: float = 1.0
    patience: int = 10  # epochs without a better dev score
    save_minutes: float = 5.0
    seed: int = 0
    teacher: tuple[Path, ...] = ()
    teacher_logits: Path | None = None
    teacher_weight: float = 0.7
    temperature: float = 2.0

    def __post_init__(self) -> None:
        for name, (low, high) in self.RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:
                flag = "--" + name.replace("_", "-")
                raise ValueError(f"{flag} must be {low} to {high}. Received: {value}.")
        if self.teacher and self.teacher_logits:
            raise ValueError("--teacher and --teacher-logits exclude each other. Received: both.")

    def updates(self, batches: int) -> int:
        """The updates of the weights in an epoch of `batches`; the last one may have fewer of them."""
        return math.ceil(batches / self.accumulate)

    def data_digests(self, teachers: Iterable[Path] = ()) -> dict[str, str]:
        """The SHA-256 of each file with rows, and of the files of all `teachers` together, by field."""
        found = {}
        if sums := [entry_of(path).sha256 for path in teachers]:
            found["teacher"] = hashlib.sha256(" ".join(sums).encode()).hexdigest()
        for name in self.PATHS:
            path = getattr(self, name)
            if path is not None and path.is_file():
                found[name] = entry_of(path).sha256
        return found

    def to_dict(self) -> dict[str, Any]:
        """Without the places of files: what another machine needs to repeat the run."""
        values = dataclasses.asdict(self)
        for name in self.PATHS:
            values[name] = values[name].name if values[name] else None
        values["teacher"] = [folder.name for folder in self.teacher]
        del values["output"]
        return values


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(LoopSettings):
    """Of models that take projection features."""

    RANGES: ClassVar[dict[str, tuple[float, float]]] = {
        **LoopSettings.RANGES,
        "distortion": (0.0, 1.0),
        "swap": (0.0, 1.0),
    }
    PATHS: ClassVar[tuple[str, ...]] = (*LoopSettings.PATHS, "unlabelled")

    label_separator: str = DEFAULT_SEPARATOR  # multi-label only
    class_weights: str = "none"
    distortion: float = 0.1  # probability of a typo in a token
    swap: float = 0.0  # probability that a token changes places with a neighbour
    unlabelled: Path | None = None  # texts of which the teacher's answers are learned beside the rows of `train`

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.class_weights not in CLASS_WEIGHTS:
            raise ValueError(
                f"--class-weights must be one of {', '.join(CLASS_WEIGHTS)}. Received: {self.class_weights}."
            )
        check_separator(self.label_separator)
        if self.unlabelled and not (self.teacher or self.teacher_logits):
            raise ValueError(
                "--unlabelled needs --teacher or --teacher-logits, whose answers are learned. "
                "Received: --unlabelled alone."
            )
