"""ONNX as a `Format`."""

from pathlib import Path
from typing import TYPE_CHECKING

from exporters.formats.base import Artifact, Calibration, Format, Runtime, TimedGraph, TimedRun
from exporters.formats.io import is_wide
from exporters.formats.tensor_names import BYTES, TEXT
from quantize.recipe import Recipe, entry

if TYPE_CHECKING:
    import onnx

    from exporters.anatomy.parts import Parts
    from exporters.anatomy.runtime_plan import RuntimePlan
    from exporters.formats.graph import BytesGraph, Graph
    from exporters.formats.onnx.file import OnnxFile
    from exporters.formats.runners import Feed, Runner
    from exporters.profiling.parts import OpGraph, Plan
    from exporters.profiling.timing import Timing


class OnnxFormat(Format["onnx.ModelProto", "OnnxFile"]):
    """Files have one signature, which takes any number of rows where the graph allows it."""

    name = "onnx"
    runtime = "ONNX Runtime"
    runtimes = (Runtime(name="onnxruntime", title="ONNX Runtime", distribution="onnxruntime"),)

    def convert(self, graph: "Graph") -> "onnx.ModelProto":
        from exporters.formats.onnx.convert import to_onnx
        from quantize.onnx.graph import set_longest

        if not graph.any_length:
            return to_onnx(graph.traced(), graph.rows)
        model = to_onnx(graph.traced(None, any_length=True))
        set_longest(model, graph.inputs[0].shape[0])
        return model

    def check(self, recipe: Recipe) -> None:
        from exporters.formats.onnx.audit import AUDITS
        from quantize.onnx.quantizers import QUANTIZERS

        entry(QUANTIZERS, recipe.name, format_name=self.name)
        entry(AUDITS, recipe.name, format_name=self.name, what="audit")

    def quantize(
        self, model: "onnx.ModelProto", recipe: Recipe, graph: "Graph", calibration: "Calibration | None"
    ) -> list[Artifact]:
        from quantize.onnx.calibrate import calibrate
        from quantize.onnx.graph import longest, set_longest
        from quantize.onnx.passes.input_types import input_types
        from quantize.onnx.passes.prepend_projection import prepend_projection
        from quantize.onnx.quantizers import QUANTIZERS

        ranges = None
        if recipe.needs_calibration and calibration is not None:
            ranges = calibrate(model, calibration(), threads=graph.calibration_threads)
        quantized = entry(QUANTIZERS, recipe.name, format_name=self.name)(model, ranges)
        if graph.any_length and not longest(quantized):
            set_longest(quantized, graph.inputs[0].shape[0])
        # Serialized at once: a pass may edit in place what it was given.
        contents = {}
        if graph.bytes_in is not None:
            contents[BYTES] = _with_bytes_in(quantized, graph.bytes_in).SerializeToString(deterministic=True)
        if graph.io is not None and is_wide(graph.io):
            contents[graph.name] = input_types(quantized, graph.io).SerializeToString(deterministic=True)
        else:
            contents[graph.name] = quantized.SerializeToString(deterministic=True)
        if graph.projection is not None:
            contents[TEXT] = prepend_projection(quantized, graph.projection).SerializeToString(deterministic=True)
        return [
            Artifact(format=self.name, graph=name, recipe=recipe.name, content=content)
            for name, content in contents.items()
        ]

    def open(self, source: Path | bytes) -> "OnnxFile":
        from exporters.formats.onnx.file import open_onnx

        return open_onnx(source)

    def runner(
        self,
        file: "OnnxFile",
        *,
        inputs: tuple[str, ...],
        rows: int | None = None,
        signature: str | None = None,  # noqa: ARG002 - a file has one
        padded: bool = False,
    ) -> "Runner":
        from exporters.formats.onnx.runner import OnnxRunner

        return OnnxRunner(file.content, name=file.name, inputs=inputs, rows=rows, padded=padded)

    def written_runner(self, path: Path, *, inputs: tuple[str, ...]) -> "Runner":
        from exporters.formats.onnx.runner import OnnxRunner

        # Not parsed first: that would take the memory of two more copies.
        return OnnxRunner(path.read_bytes(), name=path.name, inputs=inputs)

    def start(self, content: bytes, feed: "Feed") -> TimedRun:
        from exporters.formats.onnx.timing import start

        return start(content, feed)

    def timed_graph(
        self,
        *,
        runtime: str,  # noqa: ARG002 - there is one
        projection: bool = False,  # noqa: ARG002 - asked of the file when it is loaded: there is nothing to try first
        threads: int = 1,
        signature: str | None = None,  # noqa: ARG002 - a file has one
    ) -> TimedGraph:
        from exporters.formats.onnx.timed_graph import OnnxTimedGraph

        return OnnxTimedGraph(threads=threads)

    def parts(self, file: "OnnxFile") -> "Parts":
        from exporters.formats.onnx.anatomy import parts

        return parts(file)

    def runtime_plan(self, content: bytes) -> "RuntimePlan":
        from exporters.formats.onnx.fusion import runtime_plan

        return runtime_plan(content)

    def op_graph(self, file: "OnnxFile") -> "OpGraph":
        from exporters.formats.onnx import profile

        return profile.read(file.model.graph)

    def measure(self, file: "OnnxFile", plan: "Plan", feed: "Feed", rounds: int) -> "tuple[Timing, dict[str, int]]":
        from exporters.formats.onnx import profile

        return profile.measure(file, plan, feed, rounds)


def _with_bytes_in(features: "onnx.ModelProto", wanted: "BytesGraph") -> "onnx.ModelProto":
    from exporters.formats.onnx.bytes_in import bytes_in_model
    from quantize.onnx.graph import set_longest
    from quantize.onnx.passes.label_outputs import label_outputs
    from quantize.onnx.passes.prepend_graph import prepend_graph

    model = prepend_graph(features, bytes_in_model(wanted.front))
    set_longest(model, wanted.front.max_bytes)
    return label_outputs(model, multi_label=wanted.multi_label) if wanted.labels else model


FORMAT = OnnxFormat()
