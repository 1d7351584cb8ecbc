"""How texts go into a file: as strings, which the projection op reads, or as their bytes, which builtin operators do.

Both inputs are called `text`. The type of the input tells them apart, and whether the op is in the file.
"""

from collections.abc import Sequence

import numpy as np

from exporters.formats.model_file import TensorInfo
from exporters.formats.tensor_names import TEXT, plain_name

# Part of all names of the op: in TFLite, as TFLiteConverter writes it, and in ONNX.
_OP = b"SequenceProjection"


def holds_projection(content: bytes) -> bool:
    """Whether the projection op is in a file. All others must run without it."""
    return _OP in content


def takes_bytes(info: TensorInfo) -> bool:
    """Whether an input is the bytes of a text."""
    return plain_name(info.name) == TEXT and info.dtype == "uint8" and len(info.shape) == 2


def as_bytes(texts: Sequence[bytes], size: int | None = None) -> np.ndarray:
    """Texts as uint8 [rows, size], zeros behind them. What is too long is cut, and the graph drops half a character.

    Without a size, that of the longest text, and at least one byte.
    """
    width = max([1, *map(len, texts)]) if size is None else size
    rows = np.zeros((len(texts), width), np.uint8)
    for row, text in zip(rows, texts, strict=True):
        part = text[:width]
        row[: len(part)] = np.frombuffer(part, np.uint8)
    return rows
