"""A .tflite graph in LiteRT or tflite-runtime, step by step. See `TimedGraph`."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from exporters.formats.model_file import TensorInfo
from exporters.formats.runners import Feed
from exporters.formats.tensor_names import SIGNATURE, plain_name
from exporters.formats.tflite.runner import LITERT, as_input, make_interpreter
from models_tf.ops.projection import tflite_loader


class TfliteTimedGraph:
    """Runs the first graph of the file by a bare invoke. A named `signature` goes through the runtime's signature
    runner, which also copies inputs and outputs.
    """

    run: Callable[[], Any]

    def __init__(
        self, *, runtime: str = LITERT, projection: bool = False, threads: int = 1, signature: str | None = None
    ) -> None:
        if projection:
            tflite_loader.check_runtime(runtime)
        tflite_loader.check_company(runtime)
        tflite_loader.import_interpreter(runtime)
        self._make = functools.partial(make_interpreter, runtime=runtime, threads=threads)
        self._signature = signature

    def load(self, content: bytes) -> None:
        self._interpreter = self._make(content)
        if self._signature is None:
            details = self._interpreter.get_input_details()
            self._details = dict(zip(_unique([plain_name(each["name"]) for each in details]), details, strict=True))
            self._shapes = {name: tuple(detail["shape"]) for name, detail in self._details.items()}
        else:
            self._runner = self._interpreter.get_signature_runner(self._signature)
            self._details = self._runner.get_input_details()

    def inputs(self) -> tuple[TensorInfo, ...]:
        return tuple(
            TensorInfo(name=name, dtype=_dtype(detail["dtype"]), shape=_shape(detail))
            for name, detail in self._details.items()
        )

    def feed(self, feed: Feed) -> None:
        feed = {self._tensor(name): row for name, row in feed.items()}
        rows = {name: as_input(row, self._details[name]) for name, row in feed.items()}
        if self._signature is not None:
            self._rows = rows
            self.run = functools.partial(self._runner, **rows)
            return
        interpreter = self._interpreter
        for name, row in rows.items():
            if row.shape != self._shapes[name]:
                interpreter.resize_tensor_input(self._details[name]["index"], row.shape)
                self._shapes[name] = row.shape
        interpreter.allocate_tensors()
        for name, row in rows.items():
            interpreter.set_tensor(self._details[name]["index"], row)
        self.run = interpreter.invoke

    def _tensor(self, name: str) -> str:
        """The name of an input's tensor: signatures may call it otherwise."""
        if name in self._details or SIGNATURE not in self._interpreter.get_signature_list():
            return name
        wanted = self._interpreter.get_signature_runner(SIGNATURE).get_input_details().get(name)
        found = (own for own, one in self._details.items() if wanted and one["index"] == wanted["index"])
        return next(found, name)

    def output_shapes(self) -> list[tuple[int, ...]]:
        if self._signature is not None:
            return [value.shape for value in self._runner(**self._rows).values()]
        details = self._interpreter.get_output_details()
        return [self._interpreter.get_tensor(detail["index"]).shape for detail in details]


def _shape(detail: dict[str, Any]) -> tuple[int | str, ...]:
    """An open size is the longest that the file names, if it names one: a converter writes 1 where it knows none. Files
    of older converters have no `shape_signature`.
    """
    sizes, shape = detail["shape_signature"], detail["shape"]
    if len(sizes) != len(shape):
        return tuple(int(size) for size in shape)
    pairs = zip(sizes, shape, strict=True)
    return tuple("?" if size < 0 and known <= 1 else int(known) for size, known in pairs)


def _dtype(kind: Any) -> str:
    return "string" if np.dtype(kind).kind in "SUO" else np.dtype(kind).name


def _unique(names: list[str]) -> list[str]:
    """Names that are empty or repeated become `input_1` and so on: files may strip them."""
    if all(names) and len({*names}) == len(names):
        return names
    return [f"input_{number}" for number, _ in enumerate(names, 1)]
