"""A third format and a new recipe, added through the tables alone, and an export with them from start to end."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters import ExportRequest, InputError, export
from exporters.formats.base import FORMATS, Artifact, Format, TimedRun
from exporters.formats.graph import Graph
from exporters.formats.model_file import ModelFile, Signature, TensorInfo, read, readable
from exporters.formats.tensor_names import SIGNATURE
from exporters.formats.tflite import audit as tflite_audit
from quantize.recipe import RECIPES, Recipe, entry
from quantize.tflite import quantizers as tflite_quantizers
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import is_constant, schema

TOY = "graphdef"
ROUNDED = Recipe(name="rounded", description="weights in steps of 1/1024", batch_atol=1e-4)
STEPS = 1024


def rounded(values: np.ndarray) -> np.ndarray:
    return (np.round(values * STEPS) / STEPS).astype(np.float32)


def constants(graph: Any) -> Iterator[tuple[Any, np.ndarray]]:
    """Float constants of a GraphDef with their nodes."""
    import tensorflow as tf

    for node in graph.node:
        if node.op == "Const" and node.attr["dtype"].type == tf.float32.as_datatype_enum:
            yield node, tf.make_ndarray(node.attr["value"].tensor)


def round_all(graph: Any) -> Any:
    import tensorflow as tf

    for node, values in constants(graph):
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(rounded(values)))
    return graph


QUANTIZERS = {"float32": lambda graph: graph, "rounded": round_all}


def not_rounded(file: "ToyFile") -> Iterator[str]:
    return (node.name for node, values in constants(file.graph) if not np.array_equal(values, rounded(values)))


AUDITS = {"float32": lambda file: [], "rounded": not_rounded}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ToyFile(ModelFile):
    graph: Any

    def audits(self):
        return AUDITS

    def weights(self):
        return ((values, 0) for _, values in constants(self.graph) if values.ndim > 1)


class ToyRunner:
    def __init__(self, file: ToyFile, inputs: tuple[str, ...]) -> None:
        import tensorflow as tf

        self.name, self.inputs = f"{file.name} on TensorFlow", inputs
        wrapped = tf.compat.v1.wrap_function(lambda: tf.graph_util.import_graph_def(file.graph, name=""), [])
        tensors = [f"{name}:0" for name in (*inputs, "Identity")]
        *given, answer = (wrapped.graph.as_graph_element(name) for name in tensors)
        self._run = wrapped.prune(given, answer)

    def __call__(self, feed):
        import tensorflow as tf

        (name,) = self.inputs
        rows = [self._run(tf.constant(feed[name][row : row + 1])).numpy() for row in range(len(feed[name]))]
        return {"logits": np.concatenate(rows)}


class ToyFormat(Format[Any, ToyFile]):
    """A frozen TensorFlow graph."""

    name = TOY
    runtime = "TensorFlow"

    def convert(self, graph: Graph) -> Any:
        from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

        return convert_variables_to_constants_v2(graph.traced()).graph.as_graph_def()

    def check(self, recipe):
        entry(QUANTIZERS, recipe.name, format_name=self.name)
        entry(AUDITS, recipe.name, format_name=self.name, what="audit")

    def quantize(self, model, recipe, graph, calibration):
        copy = type(model)()
        copy.CopyFrom(model)
        content = entry(QUANTIZERS, recipe.name, format_name=self.name)(copy).SerializeToString(deterministic=True)
        return [Artifact(format=self.name, graph=graph.name, recipe=recipe.name, content=content)]

    def open(self, source):
        import tensorflow as tf

        name, content = read(source)
        with readable(self.name, name):
            graph = tf.compat.v1.GraphDef.FromString(content)
        found = [values for _, values in constants(graph)]
        given, answer = (
            TensorInfo(name=end, dtype=kind, shape=()) for end, kind in (("features", "int8"), ("logits", "float32"))
        )
        signature = Signature(inputs=(given,), outputs=(answer,))
        return ToyFile(
            format=self.name,
            name=name,
            content=content,
            signatures={SIGNATURE: signature},
            ops={"nodes": len(graph.node)},
            dtypes={"float32": len(found)},
            weight_bytes=sum(values.nbytes for values in found),
            parameters=sum(values.size for values in found),
            min_runtime="",
            graph=graph,
        )

    def runner(self, file, *, inputs, rows=None, signature=None):
        return ToyRunner(file, inputs)

    def start(self, content, feed):
        runner = ToyRunner(self.open(content), tuple(feed))
        return TimedRun(run=lambda: runner(feed), shapes=[value.shape for value in runner(feed).values()])


def round_tflite(content: bytes, _ranges: object) -> bytes:
    model = read_model(content)
    for tensor in model.subgraphs[0].tensors:
        if tensor.type == schema.TensorType.FLOAT32 and is_constant(model, tensor):
            buffer = model.buffers[tensor.buffer]
            values = np.frombuffer(np.asarray(buffer.data, np.uint8).tobytes(), np.float32)
            buffer.data = np.frombuffer(rounded(values).tobytes(), np.uint8)
    return write_model(model)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(FORMATS, TOY, ToyFormat())
    monkeypatch.setitem(RECIPES, ROUNDED.name, ROUNDED)


@pytest.mark.parametrize("recipe", ["float32", "rounded"])
def test_a_third_format_is_one_row_of_a_table(toy, recipe, tiny_checkpoint, tmp_path):
    request = ExportRequest(checkpoint=tiny_checkpoint, quantize=recipe, target=(TOY,), output=tmp_path / "out")
    report = export(request)
    assert report.passed, report.failures
    (file,) = report.model_files()
    assert (file.name, file.target) == (f"features_{recipe}.graphdef", TOY)
    assert (tmp_path / "out" / file.name).stat().st_size == file.size_bytes > file.weight_bytes > 0
    assert [parity.candidate for parity in report.parity][-1] == f"features_{recipe}.graphdef on TensorFlow"
    assert report.parity[-1].max_abs < 0.1
    assert {row.seq_len for row in report.latency} == {12}
    assert any("the file takes one length" in note for note in report.notes)
    assert file.name in json.loads((tmp_path / "out" / "projection.json").read_text())["files"]


def test_a_new_recipe_is_one_entry_in_each_table_of_a_format(toy, tiny_checkpoint, tmp_path, monkeypatch):
    monkeypatch.setitem(tflite_quantizers.QUANTIZERS, ROUNDED.name, round_tflite)
    monkeypatch.setitem(tflite_audit.AUDITS, ROUNDED.name, lambda file: [])
    targets = ("tflite", TOY)
    report = export(
        ExportRequest(checkpoint=tiny_checkpoint, quantize="rounded", target=targets, output=tmp_path / "out")
    )
    assert report.passed, report.failures
    assert [file.name for file in report.model_files()] == [
        "bytes_rounded.tflite",
        "features_rounded.tflite",
        "text_rounded.tflite",
        "features_rounded.graphdef",
    ]
    ours, theirs = (p for p in report.parity if p.reference.startswith("features_float32") and p.limit is None)
    # Rounded, and by little; not alike, since the converter to TFLite has multiplied norms into the weights before.
    assert 0 < ours.max_abs < 0.1
    assert 0 < theirs.max_abs < 0.1


def test_an_audit_of_the_table_is_asked(toy, tiny_checkpoint, tmp_path, monkeypatch):
    monkeypatch.setitem(QUANTIZERS, "rounded", lambda graph: graph)
    request = ExportRequest(checkpoint=tiny_checkpoint, quantize="rounded", target=TOY, output=tmp_path / "out")
    assert {failure.gate for failure in export(request).failures} == {"scheme"}


def test_a_recipe_that_one_of_the_formats_lacks_is_refused_by_name(toy, tiny_checkpoint, tmp_path):
    output = tmp_path / "out"
    with pytest.raises(InputError, match=r"onnx.*'rounded'.*Choose another `quantize` or `target`"):
        export(ExportRequest(checkpoint=tiny_checkpoint, quantize="rounded", target=(TOY, "onnx"), output=output))
    assert not Path(output).exists()


def test_without_the_rows_the_request_refuses_them(tiny_checkpoint):
    with pytest.raises(InputError, match="Received: graphdef"):
        ExportRequest(checkpoint=tiny_checkpoint, target=(TOY,))
    with pytest.raises(InputError, match="Received: rounded"):
        ExportRequest(checkpoint=tiny_checkpoint, quantize="rounded")
