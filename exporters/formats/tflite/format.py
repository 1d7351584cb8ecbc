"""TFLite as a `Format`."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from exporters.formats.base import Artifact, Calibration, Format, Runtime, TimedGraph, TimedRun
from exporters.formats.io import is_wide
from exporters.formats.tensor_names import BYTES, MEDIAPIPE, SIGNATURE, TEXT
from quantize.recipe import Recipe, entry

if TYPE_CHECKING:
    from exporters.anatomy.parts import Parts
    from exporters.anatomy.runtime_plan import RuntimePlan
    from exporters.formats.graph import BytesGraph, Graph
    from exporters.formats.runners import Feed, Runner
    from exporters.formats.tflite.file import TfliteFile
    from exporters.profiling.parts import OpGraph, Plan
    from exporters.profiling.timing import Timing
    from quantize.tflite.graph import Model


class TfliteFormat(Format[dict[str, bytes], "TfliteFile"]):
    """The float model is a file for each signature, since the number of rows is fixed. Time is not if the graph takes
    any length.
    """

    name = "tflite"
    runtime = "LiteRT"
    runtimes = (
        Runtime(name="litert", title="LiteRT", distribution="ai-edge-litert"),
        Runtime(name="tflite-runtime", title="tflite-runtime", distribution="tflite-runtime"),
    )

    def convert(self, graph: "Graph") -> dict[str, bytes]:
        from exporters.formats.tflite.convert import to_tflite

        models = {}
        for name, rows in graph.signatures.items():
            longest = {spec.name: (rows, *spec.shape) for spec in graph.inputs} if graph.any_length else None
            models[name] = to_tflite(graph.traced(rows, any_length=graph.any_length), longest=longest)
        return models

    def check(self, recipe: Recipe) -> None:
        from exporters.formats.tflite.audit import AUDITS
        from quantize.tflite.quantizers import QUANTIZERS

        entry(QUANTIZERS, recipe.name, format_name=self.name)
        entry(AUDITS, recipe.name, format_name=self.name, what="audit")

    def quantize(
        self, model: dict[str, bytes], recipe: Recipe, graph: "Graph", calibration: "Calibration | None"
    ) -> list[Artifact]:
        return [
            Artifact(
                format=self.name,
                graph=name,
                recipe=recipe.name,
                content=_finished(content, name, graph),
            )
            for name, content in _quantized(model, recipe, graph, calibration)
        ]

    def open(self, source: Path | bytes) -> "TfliteFile":
        from exporters.formats.tflite.file import open_tflite

        return open_tflite(source)

    def runner(
        self,
        file: "TfliteFile",
        *,
        inputs: tuple[str, ...],
        rows: int | None = None,  # noqa: ARG002 - a signature says how many rows it takes
        signature: str | None = None,
        padded: bool = False,
    ) -> "Runner":
        from exporters.formats.tflite.runner import TfliteRunner

        return TfliteRunner(
            file.content, name=file.name, inputs=inputs, signature=signature or SIGNATURE, padded=padded
        )

    def start(self, content: bytes, feed: "Feed") -> TimedRun:
        from exporters.formats.tflite.timing import start

        return start(content, feed)

    def timed_graph(
        self, *, runtime: str, projection: bool = False, threads: int = 1, signature: str | None = None
    ) -> TimedGraph:
        from exporters.formats.tflite.timed_graph import TfliteTimedGraph

        return TfliteTimedGraph(runtime=runtime, projection=projection, threads=threads, signature=signature)

    def other_runtimes(self, path: Path, *, inputs: tuple[str, ...]) -> "list[Runner]":
        from exporters.formats.tflite.runner import TfliteRuntimeRunner

        return [TfliteRuntimeRunner(path, inputs=inputs)] if TfliteRuntimeRunner.installed() else []

    def beyond(self, file: "TfliteFile", version: tuple[int, int]) -> list[str]:
        from exporters.formats.tflite.versions import beyond

        return beyond(file.model, version)

    def parts(self, file: "TfliteFile") -> "Parts":
        from exporters.formats.tflite.anatomy import parts

        return parts(file)

    def runtime_plan(self, content: bytes) -> "RuntimePlan":
        from exporters.formats.tflite.delegation import runtime_plan

        return runtime_plan(content)

    def op_graph(self, file: "TfliteFile") -> "OpGraph":
        from exporters.formats.tflite import profile

        return profile.read(file.model)

    def measure(self, file: "TfliteFile", plan: "Plan", feed: "Feed", rounds: int) -> "tuple[Timing, dict[str, int]]":
        from exporters.formats.tflite import profile

        return profile.measure(file, plan, feed, rounds)


def _finished(content: bytes, name: str, graph: "Graph") -> bytes:
    if graph.strip_names:
        content = _without_names(content)
    if name == MEDIAPIPE and graph.mediapipe is not None:
        from exporters.formats.tflite.mediapipe import with_metadata

        return with_metadata(content, graph.mediapipe)
    return content


def _without_names(content: bytes) -> bytes:
    from quantize.tflite.flatbuffer import read_model, write_model
    from quantize.tflite.passes.name_tensors import strip_names

    model = read_model(content)
    strip_names(model)
    return write_model(model)


def _quantized(
    models: dict[str, bytes], recipe: Recipe, graph: "Graph", calibration: "Calibration | None"
) -> Iterator[tuple[str, bytes]]:
    from quantize.tflite.calibrate import calibrate
    from quantize.tflite.flatbuffer import read_model, write_model
    from quantize.tflite.passes.compact import compact
    from quantize.tflite.passes.float_outputs import float_outputs
    from quantize.tflite.passes.input_types import input_types
    from quantize.tflite.passes.merge_signatures import merge_signatures
    from quantize.tflite.passes.prepend_projection import prepend_projection
    from quantize.tflite.quantizers import QUANTIZERS

    quantize = entry(QUANTIZERS, recipe.name, format_name=TfliteFormat.name)
    first, ranges = next(iter(models.values())), None
    if recipe.needs_calibration and calibration is not None:
        ranges = calibrate(first, calibration(), threads=graph.calibration_threads)
    if len(models) == 1 and graph.projection is None and not is_wide(graph.io):
        content = quantize(first, ranges)
        yield graph.name, content
        if graph.mediapipe is not None:
            yield MEDIAPIPE, _for_mediapipe(content)
        return
    parts = {name: read_model(quantize(content, ranges)) for name, content in models.items()}
    if graph.bytes_in is not None:
        yield BYTES, write_model(_with_bytes_in(next(iter(parts.values())), graph.bytes_in, recipe, graph.io))
    if is_wide(graph.io):
        for model in parts.values():
            float_outputs(model)
    text = copy.deepcopy(next(iter(parts.values()))) if graph.projection is not None else None
    if graph.io is not None and is_wide(graph.io):
        for model in parts.values():
            input_types(model, graph.io)
    content = write_model(merge_signatures(parts))
    yield graph.name, content
    if graph.mediapipe is not None:
        yield MEDIAPIPE, _for_mediapipe(content)
    if text is not None and graph.projection is not None:
        prepend_projection(text, graph.projection)
        compact(text)
        yield TEXT, write_model(text)


def _for_mediapipe(content: bytes) -> bytes:
    from quantize.tflite.flatbuffer import read_model, write_model
    from quantize.tflite.passes.classifier_form import classifier_form
    from quantize.tflite.passes.compact import compact
    from quantize.tflite.passes.float_outputs import float_outputs

    model = read_model(content)
    float_outputs(model)
    classifier_form(model)
    compact(model)
    return write_model(model)


def _with_bytes_in(features: "Model", wanted: "BytesGraph", recipe: Recipe, io: str | None) -> "Model":
    """Inner tensors have no names: nearly all of the front's are alike, and equal ones are stored once."""
    from exporters.formats.tflite.bytes_in import bytes_in_model
    from quantize.tflite.passes.compact import compact
    from quantize.tflite.passes.float_outputs import float_outputs
    from quantize.tflite.passes.label_outputs import label_outputs
    from quantize.tflite.passes.prepend_graph import prepend_graph

    model = copy.deepcopy(features)
    prepend_graph(model, bytes_in_model(wanted.front))
    if is_wide(io) or (recipe.has_float and io is None):
        float_outputs(model)
    if wanted.labels:
        label_outputs(model, multi_label=wanted.multi_label)
    compact(model, names=False)
    return model


FORMAT = TfliteFormat()
