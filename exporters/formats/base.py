"""`Format`: everything the pipeline asks of a file format, and `FORMATS`, the table of them.

A new format is one folder with a `Format` and one row here. Imports nothing heavy: `--help` lists the formats.
"""

import contextlib
import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast

from models_tf.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from exporters.anatomy.parts import Parts
    from exporters.anatomy.runtime_plan import RuntimePlan
    from exporters.formats.graph import Graph
    from exporters.formats.model_file import ModelFile, TensorInfo
    from exporters.formats.runners import Feed, Runner
    from exporters.profiling.parts import OpGraph, Plan
    from exporters.profiling.timing import Timing
    from quantize.recipe import Recipe

FloatModel = TypeVar("FloatModel")
File = TypeVar("File", bound="ModelFile")
# Gives the calibration rows one at a time, as arrays by the names of the inputs. Called once for each format.
Calibration: TypeAlias = "Callable[[], Iterable[Mapping[str, np.ndarray]]]"


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """The bytes of one model file; `graph` is what goes in."""

    format: str
    graph: str
    recipe: str
    content: bytes

    @property
    def name(self) -> str:
        return f"{self.graph}_{self.recipe.replace('-', '_')}.{self.format}"


@dataclass(frozen=True, kw_only=True)
class TimedRun:
    """A graph that is loaded and fed: call `run` to compute it once. `shapes` are those of its outputs. `again` feeds
    it other inputs, which may be of another length, and gives the new `run`; None where it must be loaded again.
    """

    run: Callable[[], Any]
    shapes: list[tuple[int, ...]]
    again: "Callable[[Feed], Callable[[], Any]] | None" = None


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """A runtime that can time files: `name` is the value of a flag, `title` is for people."""

    name: str
    title: str
    distribution: str


class TimedGraph(Protocol):
    """A graph in a runtime, step by step, so that each step can be timed: `load`, `feed`, then `run` at will."""

    run: Callable[[], Any]

    def load(self, content: bytes) -> None:
        """Read a file. The runtime itself was imported before."""
        ...

    def inputs(self) -> "tuple[TensorInfo, ...]":
        """What the loaded graph takes, as the runtime says it; `?` is a size that the file leaves open."""
        ...

    def feed(self, feed: "Feed") -> None:
        """Give it its inputs, in their shapes, and the memory that they need."""
        ...

    def output_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the last answer."""
        ...


class Format(Protocol[FloatModel, File]):
    """A file format and the runtime that runs its files here. What has a body here is optional."""

    name: str  # the value of --target, and the ending of the files
    runtime: str  # for people
    runtimes: tuple[Runtime, ...] = ()  # what can time a file, the usual one first

    def convert(self, graph: "Graph") -> FloatModel:
        """The float model; every recipe starts from it."""
        ...

    def check(self, recipe: "Recipe") -> None:
        """Raises `RecipeError` if the format lacks a quantizer or an audit for the recipe."""
        ...

    def quantize(
        self, model: FloatModel, recipe: "Recipe", graph: "Graph", calibration: "Calibration | None"
    ) -> list[Artifact]:
        """The files of a recipe: one for the graph and, with a projection, those that take text or its bytes."""
        ...

    def open(self, source: Path | bytes) -> File:
        """Parses a file, whoever wrote it; one that cannot be read is an `InputError`."""
        ...

    def runner(
        self,
        file: File,
        *,
        inputs: tuple[str, ...],
        rows: int | None = None,
        signature: str | None = None,
        padded: bool = False,
    ) -> "Runner":
        """Runs a file that was opened. `rows` of a batch, where the file takes any number. `padded` rows run as they
        are given, also where the file takes any length.
        """
        ...

    def written_runner(self, path: Path, *, inputs: tuple[str, ...]) -> "Runner":
        """Runs a file that an export wrote, and that is opened for nothing else."""
        return self.runner(self.open(path), inputs=inputs)

    def start(self, content: bytes, feed: "Feed") -> TimedRun:
        """Loads a graph and feeds it, for measuring time."""
        ...

    def timed_graph(
        self, *, runtime: str, projection: bool = False, threads: int = 1, signature: str | None = None
    ) -> TimedGraph:
        """Imports the runtime. `projection`: the file holds the projection op, which is made ready too."""
        raise NotImplementedError(f"{self.name} files cannot be timed step by step")

    def other_runtimes(self, path: Path, *, inputs: tuple[str, ...]) -> "list[Runner]":  # noqa: ARG002
        """Runners of the same file in further runtimes that are installed."""
        return []

    def beyond(self, file: File, version: tuple[int, int]) -> list[str]:  # noqa: ARG002
        """What is in a file that this version of TensorFlow Lite lacks; nothing in other formats."""
        return []

    def parts(self, file: File) -> "Parts":
        """Constants and operators, for an inspection."""
        raise NotImplementedError(f"{self.name} files cannot be inspected")

    def runtime_plan(self, content: bytes) -> "RuntimePlan":
        """What the runtime does with a file. Loads it in this process: see `exporters/anatomy/partitions.py`."""
        raise NotImplementedError(f"{self.name} files cannot be asked for a plan")

    def op_graph(self, file: File) -> "OpGraph":
        """The operators, for a profile."""
        raise NotImplementedError(f"{self.name} files cannot be profiled")

    def measure(self, file: File, plan: "Plan", feed: "Feed", rounds: int) -> "tuple[Timing, dict[str, int]]":
        """Time and multiply-adds of each part, for a profile."""
        raise NotImplementedError(f"{self.name} files cannot be profiled")


# Name -> "module:attribute", or the format itself.
FORMATS: dict[str, "str | Format[Any, Any]"] = {
    "tflite": "exporters.formats.tflite.format:FORMAT",
    "onnx": "exporters.formats.onnx.format:FORMAT",
}


def open_model(path: Path) -> "ModelFile":
    """Parses a file, whoever wrote it. The ending says the format; where it does not, the first that can read it.

    Raises:
        InputError: the file is not a model, or not whole.
    """
    ending = path.suffix.removeprefix(".").lower()
    if ending in FORMATS:
        return cast("ModelFile", get(ending).open(path))
    for name in FORMATS:
        with contextlib.suppress(InputError):
            return cast("ModelFile", get(name).open(path))
    known = " or ".join(f".{name}" for name in FORMATS)
    raise InputError(f"A model file must be a {known} file. Received: {path.name}, which is neither.")


def load_runner(path: Path, *, inputs: tuple[str, ...]) -> "Runner":
    """Runs a file on disk; its ending says the format."""
    found = get(path.suffix.removeprefix("."))
    return found.runner(found.open(path), inputs=inputs)


def get(name: str) -> Format[Any, Any]:
    """The format of that name."""
    if name not in FORMATS:
        raise ValueError(f"The format must be one of {', '.join(FORMATS)}. Received: {name!r}.")
    found = FORMATS[name]
    if isinstance(found, str):
        module, attribute = found.split(":")
        found = getattr(importlib.import_module(module), attribute)
    return found
