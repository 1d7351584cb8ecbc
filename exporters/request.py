"""`ExportRequest`: all that one export is told. The flags of the command are its fields.

Checks what can be checked without reading a file; imports neither TensorFlow nor numpy.
"""

import numbers
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models_tf import registry
from models_tf.data import DEFAULT_SEPARATOR, check_separator
from models_tf.errors import InputError
from models_tf.text_config import MAX_SEQ_LEN
from quantize import recipe as recipes

DEFAULT_MODEL = "prado"
DEFAULT_RECIPE = "int8"
TARGETS = ("tflite", "onnx")
OUTPUT_ROOT = Path("export-mobile-out")
_UNITS = {"": 1, "B": 1, "K": 1024, "KB": 1024, "KIB": 1024, "M": 1 << 20, "MB": 1 << 20, "MIB": 1 << 20}
# What a field must be for callers from Python (None is good where it is the default), in words, and what it becomes:
# numpy's numbers are good, but JSON cannot hold them.
_KINDS: dict[str, tuple[tuple[type, ...], str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("checkpoint", "eval_data", "calibration_data", "output"), ((str, os.PathLike), "a path", Path)),
    **dict.fromkeys(("model", "task", "quantize"), ((str,), "a text", str)),
    **dict.fromkeys(("text_column", "label_column", "label_separator"), ((str,), "a text", str)),
    **dict.fromkeys(("max_seq_len", "seed"), ((numbers.Integral,), "a whole number", int)),
    "max_size_bytes": ((numbers.Integral,), "a whole number of bytes", int),
    "max_drop": ((numbers.Real,), "a number of points", float),
}


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """One export. `model` and `task` choose a bundled model, `checkpoint` takes a folder that was trained.

    `max_size_bytes` holds every model file written, `max_drop` (points) the accuracy of every quantized one.
    """

    model: str | None = None
    task: str | None = None
    checkpoint: Path | None = None
    quantize: str = DEFAULT_RECIPE
    target: tuple[str, ...] = TARGETS
    eval_data: Path | None = None
    calibration_data: Path | None = None
    text_column: str | None = None
    label_column: str | None = None
    label_separator: str = DEFAULT_SEPARATOR
    max_seq_len: int | None = None
    output: Path | None = None
    force: bool = False
    seed: int = 0
    max_size_bytes: int | None = None
    max_drop: float | None = None

    def __post_init__(self) -> None:
        self._check_kinds()
        object.__setattr__(self, "target", _targets(self.target))
        if self.quantize not in recipes.RECIPES:
            names = tuple(recipes.RECIPES)
            raise InputError(
                f"Unknown recipe: expected one of {', '.join(names)}. Received: {self.quantize}."
                + registry.nearest(self.quantize, names)
            )
        if self.model is not None:
            registry.get(self.model)
        if self.checkpoint is None:
            registry.get(self.model or DEFAULT_MODEL).bundled_folder(self.task)
        elif self.task is not None:
            raise InputError(
                f"--task names a bundled model and --checkpoint a folder: give one. Received: {self.task}."
            )
        check_separator(self.label_separator)
        if self.max_seq_len is not None and not 1 <= self.max_seq_len <= MAX_SEQ_LEN:
            raise InputError(f"--max-seq-len must be 1 to {MAX_SEQ_LEN}. Received: {self.max_seq_len}.")
        if not 0 <= self.seed < 1 << 63:
            raise InputError(f"--seed must be 0 to 2^63 - 1. Received: {self.seed}.")
        if self.max_size_bytes is not None and self.max_size_bytes < 1:
            raise InputError(f"--max-size must be at least 1 byte. Received: {self.max_size_bytes}.")
        if self.max_drop is not None and not 0.0 <= self.max_drop <= 100.0:
            raise InputError(f"--max-drop must be 0 to 100 points. Received: {self.max_drop}.")
        for flag, path in (("--eval-data", self.eval_data), ("--calibration-data", self.calibration_data)):
            if path is not None and not path.is_file():
                received = "a folder" if path.is_dir() else "no such file"
                raise InputError(f"{flag} must be a file. Received: {path} ({received}).")

    def _check_kinds(self) -> None:
        """A wrong kind of value would be found much later, or never."""
        for name, (kinds, meaning, convert) in _KINDS.items():
            value, default = getattr(self, name), getattr(type(self), name)
            if value is None and default is None:
                continue
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise InputError(f"`{name}` must be {meaning}. Received: {value!r}.")
            object.__setattr__(self, name, convert(value))

    @property
    def checkpoint_folder(self) -> Path:
        """The folder that is read: the one given, or that of the bundled model."""
        if self.checkpoint is not None:
            return self.checkpoint
        return registry.get(self.model or DEFAULT_MODEL).bundled_folder(self.task)

    @property
    def output_folder(self) -> Path:
        """The folder that is written; without `output` it is named after model, task and recipe."""
        if self.output is not None:
            return self.output
        name = self.checkpoint_folder.resolve().name
        if self.checkpoint is None or self.model is not None:
            name = f"{self.model or DEFAULT_MODEL}-{name}"
        return OUTPUT_ROOT / f"{name}-{self.quantize}"


def parse_targets(text: str) -> tuple[str, ...]:
    """`tflite,onnx` as a tuple."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def parse_size(text: str) -> int:
    """`200KB`, `1.5MB` or plain bytes, as bytes; 1 KB is 1024 bytes."""
    # 12 digits are a thousand times what a .tflite file can hold.
    match = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*([A-Za-z]*)\s*", text)
    if not match or match[2].upper() not in _UNITS:
        raise InputError(f"--max-size must be a number with B, KB or MB, such as 200KB. Received: {text[:40]!r}.")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _targets(target: tuple[str, ...] | list[str] | str) -> tuple[str, ...]:
    if not isinstance(target, str | tuple | list) or not all(isinstance(name, str) for name in target):
        raise InputError(f"`target` must be some of {', '.join(TARGETS)}. Received: {target!r}.")
    wanted = parse_targets(target) if isinstance(target, str) else tuple(target)
    unknown = [name for name in wanted if name not in TARGETS]
    if unknown or not wanted:
        received = ", ".join(unknown) or "none"
        raise InputError(
            f"Unknown target: expected some of {', '.join(TARGETS)}. Received: {received}."
            + registry.nearest(received, TARGETS)
        )
    return tuple(name for name in TARGETS if name in wanted)  # one order, no repetition
