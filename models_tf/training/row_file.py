"""A float32 .npy file with a row for each row of a training, written and read in pieces: memory does not grow with it.

Rows are read, not mapped: mapped pages would count as memory of the process.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np


class RowFile:
    """Indexed by row numbers as an array is, `file[rows]` or `file[rows, :length]`. `ValueError` if it is no such file.

    Row 0 of what is indexed is row `start` of the file.
    """

    def __init__(self, path: Path, *, start: int = 0) -> None:
        self._path, self._start = path, start
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            self.shape, fortran, self.dtype = read(file)
            self._data = file.tell()
            size = file.seek(0, os.SEEK_END) - self._data
        self.ndim = len(self.shape)
        self._row_bytes = int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize
        if self.dtype.hasobject or self.ndim < 1 or (fortran and self.ndim > 1) or size != len(self) * self._row_bytes:
            raise ValueError(f"{self.dtype} {self.shape} in {size} bytes, which are not rows of numbers one by one")

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, key: Any) -> np.ndarray:
        rows, places = (key[0], key[1:]) if isinstance(key, tuple) else (key, ())
        found = np.empty((len(rows), *self.shape[1:]), self.dtype)
        views = found.reshape(len(rows), -1).view(np.uint8) if found.size else found
        with self._path.open("rb", buffering=0) as file:
            for view, row in zip(views, np.asarray(rows, np.int64), strict=True):
                if os.preadv(file.fileno(), [view], self._data + (self._start + int(row)) * self._row_bytes) < len(
                    view
                ):
                    raise OSError(0, "the file became shorter", str(self._path))
        everything = (slice(None), *places)
        return found[everything]

    def at(self, start: int) -> "RowFile":
        """The same file, its rows counted from `start`."""
        return RowFile(self._path, start=start)

    def blocks(self, rows: int) -> Iterator[np.ndarray]:
        """All rows in order, some at a time."""
        for start in range(0, len(self), rows):
            yield self[np.arange(start, min(start + rows, len(self)))]


class RowWriter:
    """Appends rows behind a header that has their number already."""

    def __init__(self, stream: Any, shape: Sequence[int]) -> None:
        self._stream, self._shape, self._left = stream, tuple(shape), shape[0]
        header = {"descr": "<f4", "fortran_order": False, "shape": self._shape}
        np.lib.format.write_array_header_1_0(stream, header)

    def add(self, rows: np.ndarray) -> None:
        if rows.shape[1:] != self._shape[1:] or len(rows) > self._left:
            raise ValueError(f"Rows must be {self._left} of shape {self._shape[1:]}. Received: {rows.shape}.")
        self._left -= len(rows)
        self._stream.write(np.ascontiguousarray(rows, np.float32).data)

    def finish(self) -> None:
        if self._left:
            raise ValueError(f"All rows must be written. Received: {self._left} less.")
