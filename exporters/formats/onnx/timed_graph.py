"""An .onnx graph in ONNX Runtime, step by step. See `TimedGraph`."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from exporters.formats.model_file import TensorInfo
from exporters.formats.onnx.runner import as_input, session_for
from exporters.formats.runners import Feed
from exporters.formats.texts import takes_bytes
from quantize.onnx.graph import LENGTH, LONGEST

# What ONNX Runtime calls the types that numpy knows by another name.
_NUMPY_NAMES = {"float": "float32", "double": "float64"}


class OnnxTimedGraph:
    """A run is `session.run`, whose outputs are new arrays each time."""

    run: Callable[[], Any]

    def __init__(self, *, threads: int = 1) -> None:
        import onnxruntime  # noqa: F401 - so that loading a graph does not pay for it

        self._make = functools.partial(session_for, threads=threads)

    def load(self, content: bytes) -> None:
        self._session = self._make(content)

    def inputs(self) -> tuple[TensorInfo, ...]:
        """Time is as long as the file says that it may be; the bytes of a text are as many as it has."""
        longest = self._session.get_modelmeta().custom_metadata_map.get(LONGEST, "")
        known = {LENGTH: int(longest)} if longest.isdecimal() else {}
        found = [
            TensorInfo(
                name=value.name,
                dtype=_dtype(value.type),
                shape=tuple(size if isinstance(size, int) else size or "?" for size in value.shape),
            )
            for value in self._session.get_inputs()
        ]
        return tuple(info if takes_bytes(info) else _with_sizes(info, known) for info in found)

    def feed(self, feed: Feed) -> None:
        kinds = {value.name: value.type for value in self._session.get_inputs()}
        rows = {name: as_input(row, kinds[name]) for name, row in feed.items()}
        self.run = functools.partial(self._session.run, None, rows)

    def output_shapes(self) -> list[tuple[int, ...]]:
        return [value.shape for value in self.run()]


def _with_sizes(info: TensorInfo, known: Mapping[str, int]) -> TensorInfo:
    shape = tuple(known.get(size, size) if isinstance(size, str) else size for size in info.shape)
    return dataclasses.replace(info, shape=shape)


def _dtype(kind: str) -> str:
    """`tensor(int64)` is int64; what is no tensor keeps its name, which nobody can feed."""
    inner = kind.removeprefix("tensor(").removesuffix(")") if kind.startswith("tensor(") else kind
    return _NUMPY_NAMES.get(inner, inner)
