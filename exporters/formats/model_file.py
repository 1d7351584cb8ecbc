"""`ModelFile`: one model file, parsed once; interface, audit, sizes, zeros and timing read this value.

Also takes files from other tools. One place, `readable`, turns any failure to read into a one-line `InputError`. Needs
no TensorFlow.
"""

import contextlib
import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from models_tf import limits
from models_tf.errors import InputError
from quantize.recipe import Recipe, entry

# A constant with fewer elements is an operator setting, not weights.
MIN_WEIGHT_ELEMENTS = 64
_LONGEST_REASON = 200
# What readers raise on broken bytes. `struct.error` is not a built-in error.
_READ_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
)


@dataclass(frozen=True, kw_only=True)
class TensorInfo:
    """An input or output. A size in `shape` is a name if the file leaves it open."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    scale: float | None = None
    zero_point: int = 0

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.name, "dtype": self.dtype, "shape": list(self.shape)}
        return found if self.scale is None else found | {"scale": self.scale, "zero_point": self.zero_point}


@dataclass(frozen=True, kw_only=True)
class Signature:
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]

    def to_dict(self) -> dict[str, Any]:
        return {side: [info.to_dict() for info in getattr(self, side)] for side in ("inputs", "outputs")}


@dataclass(frozen=True, kw_only=True)
class ModelFile(ABC):
    """Histograms cover the first signature, bytes the whole file."""

    format: str
    name: str
    content: bytes = field(repr=False)
    signatures: Mapping[str, Signature]
    ops: Mapping[str, int]
    dtypes: Mapping[str, int]
    weight_bytes: int
    parameters: int
    # Oldest runtime with these operators, judged by their versions; "" when unknown.
    min_runtime: str

    @property
    def stored(self) -> bytes:
        """The bytes of the file itself; `content` has everything in it that a runtime needs."""
        return self.content

    @property
    def size_bytes(self) -> int:
        return len(self.content)

    @property
    def overhead_bytes(self) -> int:
        return self.size_bytes - self.weight_bytes

    @property
    def any_length(self) -> bool:
        """Whether every input leaves the size behind that of the rows open: time, in the files made here."""
        first = next(iter(self.signatures.values()))
        return all(
            len(info.shape) > 1 and (info.shape[1] == -1 or isinstance(info.shape[1], str)) for info in first.inputs
        )

    def interface(self) -> dict[str, Any]:
        """Inputs and outputs of each signature, for app developers."""
        return {name: signature.to_dict() for name, signature in self.signatures.items()}

    def audit(self, recipe: Recipe) -> list[str]:
        """Where the file deviates from the recipe; empty if it does not."""
        check = entry(self.audits(), recipe.name, format_name=self.format, what="audit")
        with readable(self.format, self.name):
            return list(dict.fromkeys(check(self)))

    def zero_share(self) -> float:
        """Share of the weights (constants with two or more axes, embeddings too) that are zero."""
        zeros = total = 0
        with readable(self.format, self.name):
            for values, zero in self.weights():
                zeros, total = zeros + int(np.count_nonzero(values == zero)), total + values.size
        return zeros / total if total else 0.0

    @abstractmethod
    def audits(self) -> Mapping[str, "Check"]:
        """The format's audits, by recipe name."""

    @abstractmethod
    def weights(self) -> Iterator[tuple[np.ndarray, int]]:
        """Constants that are weights by `is_weights`, each once, with its zero point."""


Check = Callable[[Any], Iterable[str]]


def is_weights(shape: Sequence[int] | np.ndarray | None) -> bool:
    return shape is not None and len(shape) > 1 and math.prod(int(size) for size in shape) >= MIN_WEIGHT_ELEMENTS


@contextlib.contextmanager
def readable(format_name: str, name: str) -> Iterator[None]:
    """Turns whatever a reader raises on a broken file into an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except _READ_ERRORS as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{name} must be a .{format_name} file that is whole. Received: {reason[:_LONGEST_REASON].rstrip('.')}."
        ) from error


def read(source: Path | bytes) -> tuple[str, bytes]:
    """Name and bytes of a file or of bytes in memory."""
    if isinstance(source, bytes):
        return "The model", source
    try:
        limits.check("model_bytes", source.stat().st_size, str(source))
        if not source.is_file() and not source.is_dir():
            raise InputError(f"{source} must be a file. Received: a device, a pipe or a socket.")
        return source.name, source.read_bytes()
    except OSError as error:
        raise InputError(f"{source} must be a file that can be read. Received: {error.strerror}.") from error
