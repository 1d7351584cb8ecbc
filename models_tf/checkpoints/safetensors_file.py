"""One safetensors file, read tensor by tensor as float32: F64, F32, F16 and BF16, without PyTorch.

The safetensors library checks the file (header, offsets, length); the values are read here, since its numpy reader
does not know BF16. Nothing is mapped into memory: a file that shrinks meanwhile is an error, not a crash.
"""

from pathlib import Path

import numpy as np

from models_tf.checkpoints.json_text import parse_json
from models_tf.errors import InputError

_FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


class SafetensorsFile:
    """Names and shapes at once, values on request."""

    def __init__(self, path: Path) -> None:
        from safetensors import SafetensorError, safe_open

        self.path = path
        try:
            with safe_open(path, framework="numpy"):
                pass
        except (SafetensorError, ValueError) as error:
            raise InputError(_what_else(path, error)) from error
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = parse_json(file.read(length), f"{path} must have a header in JSON.")
        header.pop("__metadata__", None)
        self._entries = header
        self._begin = 8 + length

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._entries)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._entries[name]["shape"])

    def read(self, name: str) -> np.ndarray:
        entry = self._entries[name]
        kind = _FLOATS.get(entry["dtype"])
        if kind is None:
            raise InputError(
                f"{self.path}: tensor {name} must be of type {', '.join(_FLOATS)}. Received: {entry['dtype']}."
            )
        dtype, (begin, end) = np.dtype(kind), entry["data_offsets"]
        count = (end - begin) // dtype.itemsize
        with self.path.open("rb") as file:
            file.seek(self._begin + begin)
            values = np.fromfile(file, dtype, count)
        if values.size != count:
            raise InputError(f"{self.path} is damaged: it ends within tensor {name}.")
        if entry["dtype"] == "BF16":  # the upper half of a float32
            values = (values.astype(np.uint32) << 16).view(np.float32)
        with np.errstate(over="ignore"):  # a value beyond float32 becomes infinite, which whoever ports it refuses
            return values.astype(np.float32, copy=False).reshape(self.shape(name))


def _what_else(path: Path, error: Exception) -> str:
    """What stands there in place of safetensors, in one line."""
    with path.open("rb") as file:
        start = file.read(64)
    if start.startswith(b"PK\x03\x04") or (start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")):
        return (
            f"{path} must be a safetensors file. Received: a pickle of PyTorch, which may hold code and is not opened: "
            "save the model again with `save_pretrained(folder, safe_serialization=True)`."
        )
    if start.startswith(b"version https://git-lfs"):
        return f"{path} must be a safetensors file. Received: a pointer of Git LFS: run `git lfs pull` in its folder."
    return f"{path} is damaged or not a safetensors file: {str(error).rstrip('.')}."
