"""One pytorch_model.bin, read by PyTorch with `weights_only=True`: tensors and nothing else, no code is executed.

PyTorch is an optional extra. A zip file is mapped into memory, so values are read when they are asked for.
"""

import re
import struct
import warnings
from pathlib import Path
from pickle import UnpicklingError  # the name of an error: nothing is unpickled here
from typing import Any

import numpy as np

from models_tf import extras, limits
from models_tf.errors import InputError

# Before it, a file could execute code in spite of `weights_only` (CVE-2025-32434).
MIN_TORCH = (2, 6)
# What PyTorch's reader raises for files that are not weights.
_REFUSALS = (
    UnpicklingError,
    RuntimeError,
    ValueError,
    EOFError,
    LookupError,
    AttributeError,
    TypeError,
    AssertionError,
    ArithmeticError,
    ImportError,
    struct.error,
)


class TorchFile:
    """Names and shapes at once, values on request."""

    def __init__(self, path: Path) -> None:
        self.path = path
        torch = _torch(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about old formats and other versions of pickle: it loads or it does not
            try:
                tensors = torch.load(path, map_location="cpu", weights_only=True, mmap=_is_zip(path))
            except _REFUSALS as error:
                raise InputError(_refusal(path, error)) from error
        if not isinstance(tensors, dict) or not all(isinstance(name, str) for name in tensors):
            raise InputError(f"{path} must hold tensors by name. Received: {type(tensors).__name__}.")
        for name, value in tensors.items():
            if not isinstance(value, torch.Tensor):
                raise InputError(f"{path} must hold tensors by name. Received: {name} of {type(value).__name__}.")
            # One stored value can stand for a tensor of any size.
            ratio = value.numel() * value.element_size() // max(path.stat().st_size, 1)
            limits.check("tensor_ratio", ratio, f"{path}: tensor {name}")
        self._tensors = tensors

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._tensors[name].shape)

    def read(self, name: str) -> np.ndarray:
        import torch

        value = self._tensors[name].detach()
        if not value.is_floating_point() or value.layout != torch.strided or value.is_meta:
            raise InputError(
                f"{self.path}: tensor {name} must be a dense tensor of floats. Received: {value.dtype}, {value.layout}."
            )
        return np.array(value.to(torch.float32).numpy())  # a copy: the file's memory is not ours to change


def _torch(path: Path) -> Any:
    extras.require(extras.TORCH, f"{path}, a PyTorch file,", otherwise="save the model as model.safetensors")
    import torch

    version = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    if version < MIN_TORCH:
        raise InputError(
            f"{path} needs PyTorch {'.'.join(map(str, MIN_TORCH))} or newer: older ones may execute what is in it. "
            f"Received: {torch.__version__}. {extras.pip_line(extras.TORCH)}."
        )
    return torch


def _is_zip(path: Path) -> bool:
    """Whether PyTorch takes it for one: older files are not, and cannot be mapped."""
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


def _refusal(path: Path, error: Exception) -> str:
    """One line. PyTorch's own text also says how to load the file anyway, which nobody should."""
    text = " ".join(str(error).split())
    wanted = re.search(r"(?:GLOBAL|class) ([\w.]+)", text) if isinstance(error, UnpicklingError) else None
    if wanted:
        return f"{path} must hold tensors and nothing else. Received: {wanted[1]}, which is not executed here."
    reason = "not readable" if isinstance(error, UnpicklingError) else text[:160].rstrip(".")
    return f"{path} is damaged or not a file of PyTorch weights: {type(error).__name__}: {reason}."
