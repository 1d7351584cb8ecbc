"""`Subject`: what is exported, as the pipeline sees it. Projection models and token models each have a module for it.

A subject is read from a request without TensorFlow, so that bad input is found at once. `build` makes the Keras
reference, and what it returns knows the graph to convert, the files beside the models and what is held against what.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from exporters.data.rows import Rows
from exporters.explanation.run import ExplainedText
from exporters.formats.artifacts import Artifact
from exporters.formats.graph import Graph
from exporters.formats.runners import Feed
from exporters.request import ExportRequest
from exporters.verification.verify import Check
from models_tf import registry

Placed = tuple[Artifact, Path]


class Built(Protocol):
    """A subject with its Keras model."""

    @property
    def graph(self) -> Graph: ...

    def describe(self) -> dict[str, Any]:
        """The model, for the report."""
        ...

    def side_files(self, placed: Sequence[Placed]) -> dict[str, str | bytes]:
        """What an app needs beside the model files, by file name."""
        ...

    def checks(self, references: Sequence[Placed], placed: Sequence[Placed]) -> tuple[list[Check], list[Check]]:
        """Checks and probes for `verify`; `references` are float files that are not kept."""
        ...

    def explain(self, rows: Rows) -> tuple[ExplainedText, ...]:
        """Some of the rows with the words that go on from layer to layer; of models that drop none, nothing."""
        ...

    def timed_rows(self, artifact: Artifact) -> dict[int, Feed]:
        """Rows to measure time with, by sequence length; the file's own length is among them."""
        ...


class Subject(Protocol):
    """A model that was read."""

    def rows(self, *, calibrate: bool) -> Rows: ...

    def build(self, rows: Rows) -> Built: ...


def load(request: ExportRequest) -> Subject:
    """The subject of a request. Needs no TensorFlow."""
    if request.kind == registry.TOKENS:
        from exporters.sources.tokens import TokenSubject

        return TokenSubject.load(request)
    from exporters.sources.projection import ProjectionSubject

    return ProjectionSubject.load(request)
