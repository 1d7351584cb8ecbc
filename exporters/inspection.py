"""Looks into the files written: sizes, histograms, sums, inputs and outputs, and whether the recipe was reached."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from exporters import audit
from exporters.artifacts import Artifact
from exporters.projection_file import projection_file
from exporters.report import FileRecord
from models_tf.ops.projection.library import HostProjection
from quantize.recipe import Recipe

Placed = tuple[Artifact, Path]


def inspect(
    placed: Iterable[Placed], recipe: Recipe, *, others: Sequence[str]
) -> tuple[tuple[FileRecord, ...], tuple[str, ...]]:
    """Records of all files, read back from disk, and what is wrong with them. `others` are not models."""
    records, problems = [], []
    folder = Path()
    for artifact, path in placed:
        folder, content = path.parent, path.read_bytes()
        found = audit.audit(content, target=artifact.target)
        problems += [f"{artifact.name}: {problem}" for problem in found.problems(recipe)]
        records.append(
            FileRecord(
                name=artifact.name,
                size_bytes=len(content),
                sha256=hashlib.sha256(content).hexdigest(),
                target=artifact.target,
                graph=artifact.graph,
                parameters=found.parameters,
                weight_bytes=found.weight_bytes,
                overhead_bytes=found.overhead_bytes,
                ops=dict(found.ops),
                dtypes=dict(found.dtypes),
                min_runtime=found.min_runtime,
            )
        )
    for name in others:
        content = (folder / name).read_bytes()
        records.append(FileRecord(name=name, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest()))
    return tuple(records), tuple(problems)


def projection_json(host: HostProjection, placed: Iterable[Placed]) -> str:
    """The text of projection.json for these files."""
    files = {artifact.name: _interface(artifact) for artifact, _ in placed}
    return projection_file(
        host.config,
        files,
        project=lambda texts: host.project(texts)[0],
        lengths=lambda texts: host.project(texts)[1].tolist(),
    )


def _interface(artifact: Artifact) -> dict[str, Any]:
    return _tflite_interface(artifact.content) if artifact.target == "tflite" else _onnx_interface(artifact.content)


def _tflite_interface(content: bytes) -> dict[str, Any]:
    from quantize.flatbuffer import read_model, schema, tensor_name

    model = read_model(content)
    names = {value: key for key, value in vars(schema.TensorType).items() if isinstance(value, int)}

    def describe(tensor: Any) -> dict[str, Any]:
        entry = {
            "name": tensor_name(tensor),
            "dtype": names[tensor.type].lower(),
            "shape": [int(size) for size in tensor.shape],
        }
        quantization = tensor.quantization
        if quantization is not None and quantization.scale is not None and len(quantization.scale):
            entry |= {"scale": float(quantization.scale[0]), "zero_point": int(quantization.zeroPoint[0])}
        return entry

    signatures = {}
    for signature in model.signatureDefs:
        tensors = model.subgraphs[signature.subgraphIndex].tensors
        key = signature.signatureKey
        signatures[key if isinstance(key, str) else key.decode()] = {
            "input": describe(tensors[signature.inputs[0].tensorIndex]),
            "output": describe(tensors[signature.outputs[0].tensorIndex]),
        }
    return signatures


def _onnx_interface(content: bytes) -> dict[str, Any]:
    import onnx

    graph = onnx.load_from_string(content).graph

    def describe(value: Any) -> dict[str, Any]:
        kind = value.type.tensor_type
        return {
            "name": value.name,
            "dtype": onnx.TensorProto.DataType.Name(kind.elem_type).lower(),
            "shape": [dim.dim_param or dim.dim_value for dim in kind.shape.dim],
        }

    return {"input": describe(graph.input[0]), "output": describe(graph.output[0])}
