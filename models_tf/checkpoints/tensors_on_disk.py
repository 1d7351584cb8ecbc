"""`TensorsOnDisk`: weights by name that are read when they are asked for, for a job that needs its memory meanwhile.

The file is one of ours and lives as long as the job. It holds the bytes of the arrays and nothing else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True, kw_only=True)
class _Entry:
    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int


class TensorsOnDisk(Mapping[str, np.ndarray]):
    """Each look-up is a new array. An array that is there twice, in `tensors` or in a table put down before into the
    same file, is stored once.
    """

    def __init__(self, tensors: Mapping[str, np.ndarray], file: "TensorFile") -> None:
        self._path, self._entries = file.path, {name: file.put(value) for name, value in tensors.items()}

    def __getitem__(self, name: str) -> np.ndarray:
        entry = self._entries[name]
        values = np.fromfile(self._path, entry.dtype, int(np.prod(entry.shape)), offset=entry.offset)
        return values.reshape(entry.shape)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class TensorFile:
    """A new file that arrays are put into."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch(exist_ok=False)
        # With the arrays: a number that stands for one is free again once it is gone.
        self._known: dict[int, tuple[np.ndarray, _Entry]] = {}

    def put(self, value: np.ndarray) -> _Entry:
        if id(value) not in self._known:
            with self.path.open("ab") as file:
                entry = _Entry(dtype=value.dtype, shape=value.shape, offset=file.tell())
                file.write(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)  # tofile misses a full disk
            self._known[id(value)] = value, entry
        return self._known[id(value)][1]
