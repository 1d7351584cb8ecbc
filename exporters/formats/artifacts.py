"""From a graph to files: convert once for each format, quantize as the recipe says, place on disk, read back once.

A large model fills the memory several times while it is converted, so an export takes one format at a time and keeps
files, not bytes.
"""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from exporters.formats import base
from exporters.formats.base import Artifact, Calibration, Format
from exporters.formats.graph import Graph
from exporters.formats.model_file import ModelFile
from exporters.formats.runners import Runner
from models_tf import memory
from models_tf.errors import InputError
from quantize.errors import RecipeError
from quantize.recipe import RECIPES, Recipe

FLOAT = RECIPES["float32"]
_LARGE_BYTES = 64_000_000


@dataclass(frozen=True, kw_only=True)
class Converted:
    """A graph as a float model of one format."""

    format: Format[Any, Any]
    graph: Graph
    model: Any

    def references(self) -> list[Artifact]:
        """Float files that others are compared with, in their usual form. Those that take bytes are compared with their
        own recipe alone.
        """
        return replace(self, graph=replace(self.graph, bytes_in=None, io=None, mediapipe=None)).quantize(FLOAT)

    def quantize(self, recipe: Recipe, calibration: "Calibration | None" = None) -> list[Artifact]:
        try:
            return self.format.quantize(self.model, recipe, self.graph, calibration)
        except RecipeError as error:
            raise InputError(f"{error} Choose another --quantize.") from error


@dataclass(frozen=True, kw_only=True)
class Placed:
    """An artifact on disk. It is parsed once, and loaded once into its runtime, until it is to `forget` both."""

    name: str
    format: Format[Any, Any]
    graph: str
    recipe: Recipe
    path: Path
    _runners: dict[tuple[str, ...], Runner] = field(default_factory=dict, repr=False, compare=False)

    @functools.cached_property
    def file(self) -> ModelFile:
        opened: ModelFile = self.format.open(self.path)
        return opened

    def runner(self, inputs: tuple[str, ...], *, rows: int | None = None) -> Runner:
        """A runtime takes a second to load a large file."""
        if inputs not in self._runners:
            self._runners[inputs] = self.format.runner(self.file, inputs=inputs, rows=rows)
        return self._runners[inputs]

    @property
    def runner_name(self) -> str:
        """That of its runner, without loading it."""
        return f"{self.name} on {self.format.runtime}"

    @property
    def is_large(self) -> bool:
        """Whether copies of it count: such files are in memory one at a time."""
        return self.path.stat().st_size >= _LARGE_BYTES

    def forget(self) -> None:
        """Gives the memory of a large file back. It is read again when it is asked for."""
        if self.is_large:
            self.__dict__.pop("file", None)
            self._runners.clear()


def forget(placed: Iterable[Placed]) -> None:
    """Gives the memory of large files back to the system."""
    for one in placed:
        one.forget()
    memory.give_back()


def usable(formats: Iterable[str], *recipes: Recipe) -> list[Format[Any, Any]]:
    """The formats of these names. One that lacks one of the recipes is refused."""
    found = [base.get(name) for name in formats]
    for one in found:
        for recipe in recipes:
            try:
                one.check(recipe)
            except RecipeError as error:
                raise InputError(f"{error} Choose another --quantize or --target.") from error
    return found


def convert(graph: Graph, target: Format[Any, Any]) -> Converted:
    """The float model of the graph. The weights of its function are not held any longer."""
    return Converted(format=target, graph=graph.without_function(), model=target.convert(graph))


def convert_all(graph: Graph, formats: Iterable[str], *recipes: Recipe) -> list[Converted]:
    """Float models of the graph, all at once, for models that are small. See `usable`."""
    return [convert(graph, one) for one in usable(formats, *recipes)]


def build(converted: Iterable[Converted], recipe: Recipe, calibration: "Calibration | None" = None) -> list[Artifact]:
    """The files of each format."""
    return [artifact for one in converted for artifact in one.quantize(recipe, calibration)]


def place(files: Iterable[Artifact], write: Callable[[str, bytes], Path]) -> list[Placed]:
    """The artifacts after `write` has put them on disk, by name and content."""
    return [
        Placed(
            name=file.name,
            format=base.get(file.format),
            graph=file.graph,
            recipe=RECIPES[file.recipe],
            path=write(file.name, file.content),
        )
        for file in files
    ]
