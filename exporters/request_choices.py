"""What the fields of an `ExportRequest` may be, their defaults, and how texts of the command line become values."""

import re
from pathlib import Path
from typing import Any

from exporters.formats.base import FORMATS
from exporters.formats.tensor_names import BYTES, FEATURES, TEXT
from models_tf import registry
from models_tf.encoder.heads import EMBEDDING
from models_tf.errors import InputError

DEFAULT_MODEL = "prado"
DEFAULT_RECIPE = "int8"
# What a token model can be exported for: the heads of `models_tf.encoder.heads`; a regression is a classification head
# with one label.
TOKEN_TASKS = (
    *("classification", "regression", "token-classification", "question-answering", "sentence-order", "base"),
    EMBEDDING,
)
FOLDS = ("full", "safe", "off")
# What a projection model's files take: the bytes of a text, its features, or a text as a string.
GRAPHS = (BYTES, FEATURES, TEXT)
# What bytes-in files answer: logits, or probabilities and the best label, too.
OUTPUTS = ("logits", "labels")
TARGETS = tuple(FORMATS)
TFLITE = "tflite"
OUTPUT_ROOT = Path("export-mobile-out")
_UNITS = {"": 1, "B": 1, "K": 1024, "KB": 1024, "KIB": 1024, "M": 1 << 20, "MB": 1 << 20, "MIB": 1 << 20}


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


def listed(value: Any) -> Any:
    """`en,pt-BR` as a tuple; anything but text as it is."""
    return parse_targets(value) if isinstance(value, str) else value


def as_targets(target: tuple[str, ...] | list[str] | str) -> tuple[str, ...]:
    if not isinstance(target, str | tuple | list) or not all(isinstance(name, str) for name in target):
        raise InputError(f"`target` must be some of {', '.join(FORMATS)}. Received: {target!r}.")
    wanted = parse_targets(target) if isinstance(target, str) else tuple(target)
    unknown = [name for name in wanted if name not in FORMATS]
    if unknown or not wanted:
        received = ", ".join(unknown) or "none"
        raise InputError(
            f"Unknown target: expected some of {', '.join(FORMATS)}. Received: {received}."
            + registry.nearest(received, tuple(FORMATS))
        )
    return tuple(name for name in FORMATS if name in wanted)  # one order, no repetition
