"""`Source`: what is exported, as the pipeline sees it. Projection models and token models each have a module for it.

A source is read from a request without TensorFlow, so that bad input is found at once. `build` makes the Keras
reference, and what it returns knows the graph to convert, the files beside the models and what is compared with what.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from exporters.data.rows import Rows
from exporters.explanation.run import ExplainedText
from exporters.formats.artifacts import Placed
from exporters.formats.graph import Graph
from exporters.formats.runners import Feed, KerasRunner
from exporters.request import ExportRequest
from exporters.self_test.example import Worked
from exporters.verification.verify import Check
from models_tf import registry


class Built(Protocol):
    """A source with its Keras model."""

    @property
    def graph(self) -> Graph: ...

    def on_disk(self, folder: Path) -> "Built":
        """The same, with large weights in a file of the folder until they are asked for."""
        ...

    def forget(self) -> None:
        """Gives the memory of the reference back, once files were compared with it."""
        ...

    def is_kept(self, graph: str) -> bool:
        """Whether the files of a graph are part of the output; others are only compared with."""
        ...

    def describe(self) -> dict[str, Any]:
        """The model, for the report."""
        ...

    def side_files(self, placed: Sequence[Placed]) -> dict[str, str | bytes]:
        """What an app needs beside the model files, by file name."""
        ...

    def worked_examples(self, rows: Rows) -> Worked:
        """Some texts with the inputs that the files get for them, for examples.json."""
        ...

    def keras(self) -> KerasRunner:
        """The model as trained."""
        ...

    def checks(self, references: Sequence[Placed], placed: Sequence[Placed]) -> tuple[list[Check], list[Check]]:
        """Checks and probes for `verify`; `references` are files that are not kept."""
        ...

    def explain(self, rows: Rows) -> tuple[ExplainedText, ...]:
        """Some of the rows with the words that each layer keeps; nothing for models that drop none."""
        ...

    def timed_rows(self, graph: str) -> dict[int, Feed]:
        """Rows to measure time with, by sequence length; the length of the graph's own files is among them."""
        ...


class Source(Protocol):
    """A checkpoint that was read, and what the request says of it."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the checkpoint that were read; none for random weights."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of it, for the report."""
        ...

    def rows(self, *, calibrate: bool) -> Rows: ...

    def build(self, rows: Rows) -> Built: ...


def load(request: ExportRequest) -> Source:
    """The source of a request. Needs no TensorFlow."""
    if request.kind == registry.TOKENS:
        from exporters.sources.tokens import TokenSource

        return TokenSource.load(request)
    from exporters.sources.projection import ProjectionSource

    return ProjectionSource.load(request)
